"""Commands for one's own files: ``archloom init`` and the starters that it copies; schemas.

``starters/`` has a study file and a hardware template for each starter. ``study_schema.py`` and
``template_schema.py`` make JSON schemas of what the readers of files say, with meanings from
docstrings (``docstrings.py``). ``shell_completion.py`` sets a shell up.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .schema_command import (
        SCHEMA_EXAMPLES as SCHEMA_EXAMPLES,
        schema as schema,
        schema_of as schema_of,
    )
    from .shell_completion import (
        COMPLETION_EXAMPLES as COMPLETION_EXAMPLES,
        completion as completion,
    )
    from .starter import INIT_EXAMPLES as INIT_EXAMPLES, init as init
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)

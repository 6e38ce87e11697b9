"""Layers and networks: loop nests over N, K, C, P, Q, R, S, G, and the graph that they make.

Read ``dims.py``, ``layer.py`` and ``network.py``; ``layer_builders.py`` and ``network_builder.py``
make both from shapes as people think of them. ``graph.py`` and ``liveness.py`` hold facts of a
graph that searches ask for, ``isomorphism.py`` tells whether two networks are the same.
"""

from typing import TYPE_CHECKING

from archloom.space.exports import lazy_exports

if TYPE_CHECKING:
    from .dims import (
        DIMS as DIMS,
        INPUTS as INPUTS,
        OUTPUTS as OUTPUTS,
        RELEVANT as RELEVANT,
        TENSORS as TENSORS,
        WEIGHTS as WEIGHTS,
        C as C,
        Dim as Dim,
        G as G,
        K as K,
        N as N,
        P as P,
        Q as Q,
        R as R,
        S as S,
        Tensor as Tensor,
    )
    from .graph import (
        bits as bits,
        components as components,
        connected as connected,
        identical_layers as identical_layers,
        positions as positions,
        rank_order as rank_order,
        ranks as ranks,
        remembered as remembered,
    )
    from .isomorphism import explain_difference as explain_difference
    from .layer import (
        NO_ZEROS as NO_ZEROS,
        Interleave as Interleave,
        Layer as Layer,
        Sparsity as Sparsity,
    )
    from .layer_builders import (
        activation as activation,
        add as add,
        avg_pool2d as avg_pool2d,
        conv1d as conv1d,
        conv2d as conv2d,
        conv_transpose2d as conv_transpose2d,
        global_pool as global_pool,
        gru_cell as gru_cell,
        linear as linear,
        lstm_cell as lstm_cell,
        matmul as matmul,
        max_pool2d as max_pool2d,
        mul as mul,
        rnn_cell as rnn_cell,
        with_last_windows as with_last_windows,
    )
    from .liveness import alive as alive, largest_working_set as largest_working_set
    from .network import INPUT as INPUT, Network as Network, is_input as is_input
    from .network_builder import Builder as Builder, Cut as Cut, Piece as Piece, Source as Source
    from .network_json import (
        from_dict as from_dict,
        from_text as from_text,
        read_network as read_network,
        to_dict as to_dict,
        to_text as to_text,
        write_network as write_network,
    )
    from .slice import (
        Mask as Mask,
        Shape as Shape,
        Slice as Slice,
        no_causal_mask as no_causal_mask,
    )
    from .vector_layer_builders import (
        bilinear as bilinear,
        copy as copy,
        group_norm as group_norm,
        layer_norm as layer_norm,
        rms_norm as rms_norm,
        rotary as rotary,
        scale_shift as scale_shift,
        softmax as softmax,
    )
    from .vector_ops import ACTIVATIONS as ACTIVATIONS, VectorOperator as VectorOperator
    from .window import Pair as Pair, Size as Size
else:
    __getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)

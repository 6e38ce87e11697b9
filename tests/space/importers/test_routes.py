"""Three routes to a network: the catalogue, an ONNX file, an exported program.

All give the same layers, shapes, edges, parameters and multiply-accumulates. Parameters are also
PyTorch's, and multiply-accumulates those that its own counter finds.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from archloom.space.importers.onnx.reader import read_onnx
from archloom.space.importers.torch.reader import network_of
from archloom.space.networks.registry import network
from archloom.space.workload.isomorphism import explain_difference
from archloom.space.workload.network import Network

from ...cases.sweeps import sweep
from .models import convolutional, sequences, upsampling, volumes


def by_trace(model: nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> Network:
    """Through PyTorch's exporter of traces, which leaves batch norms as they are if so told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            inputs,
            str(path),
            dynamo=False,
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=False,
        )
    return read_onnx(path)


def by_graph(model: nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> Network:
    """Through PyTorch's exporter of graphs, whose weights stand in a file beside the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, inputs, str(path), dynamo=True, optimize=False, external_data=True, verbose=False
        )
    return read_onnx(path)


@dataclass(frozen=True)
class Case:
    """A model, what it takes, and its name in the catalogue (none for blocks that have none)."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...] = (1, 3, 224, 224)
    name: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    ids: int = 0
    routes: tuple[Callable[..., Network], ...] = (by_trace,)

    def inputs(self) -> tuple[torch.Tensor, ...]:
        if self.ids:
            return tuple(torch.zeros(self.shape, dtype=torch.long) for _ in range(self.ids))
        return (torch.zeros(self.shape),)


CASES = {
    "alexnet": Case(convolutional.alexnet, name="alexnet"),
    "googlenet": Case(convolutional.googlenet, name="googlenet"),
    "resnet18": Case(convolutional.resnet18, name="resnet18"),
    "resnet50": Case(convolutional.resnet50, name="resnet50"),
    "resnext50": Case(convolutional.resnext50, name="resnext50"),
    "mobilenetv1": Case(convolutional.mobilenetv1, name="mobilenetv1"),
    "mobilenetv2": Case(convolutional.mobilenetv2, name="mobilenetv2"),
    "squeezenet1_1": Case(
        convolutional.squeezenet1_1, name="squeezenet1_1", routes=(by_trace, by_graph)
    ),
    "densenet161": Case(convolutional.densenet161, name="densenet161"),
    "efficientnet_b0": Case(convolutional.efficientnet_b0, name="efficientnet_b0"),
    "unet": Case(upsampling.UNet, (1, 1, 572, 572), "unet"),
    "unet of small maps": Case(upsampling.UNet, (1, 1, 188, 188)),
    "srgan": Case(upsampling.Generator, (1, 3, 96, 96), "srgan"),
    "upsampler": Case(upsampling.Upsampler, (1, 3, 16, 16), routes=(by_trace, by_graph)),
    "vit_b_16": Case(sequences.VisionTransformer, name="vit_b_16"),
    "bert_base": Case(sequences.Bert, (1, 128), "bert_base", ids=2),
    "two blocks of vit_b_16": Case(partial(sequences.VisionTransformer, depth=2)),
    "two blocks of bert_base": Case(partial(sequences.Bert, depth=2), (1, 128), ids=2),
    "ncf": Case(sequences.NeuMF, (1,), "ncf", ids=2, routes=(by_trace, by_graph)),
    "ocr_recognizer": Case(sequences.Crnn, (1, 1, 32, 100), "ocr_recognizer"),
    "gated": Case(
        partial(sequences.Recurrent, nn.GRU, num_layers=2, bidirectional=True),
        (1, 5, 12),
        routes=(by_trace, by_graph),
    ),
    # PyTorch's exporter of graphs takes plain layers apart
    "plain": Case(partial(sequences.Recurrent, nn.RNN, nonlinearity="relu"), (1, 5, 12)),
    # ONNX has no LSTM with a projection
    "projected": Case(
        partial(sequences.Recurrent, nn.LSTM, num_layers=2, proj_size=4), (1, 5, 12), routes=()
    ),
    "3d resnet": Case(volumes.VideoResNet, (1, 3, 8, 16, 16), routes=(by_trace, by_graph)),
    "(2+1)d resnet": Case(partial(volumes.VideoResNet, volumes.space_then_time), (2, 3, 8, 16, 16)),
    "3d unet": Case(volumes.VolumeUNet, (1, 1, 8, 12, 16)),
    "decoder": Case(sequences.Decoder, (1, 12, 64), routes=(by_graph,)),
}


def built(case: Case) -> nn.Module:
    """The model, with values that no two tensors share: an exporter merges equal ones."""
    torch.manual_seed(1)
    model = case.build().eval()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.uniform_(0.5, 1.5)
    return model


def by_export(model: nn.Module, inputs: tuple[torch.Tensor, ...], name: str) -> Network:
    """Through an exported program; PyTorch's own LSTM warns that it is rewritten meanwhile."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r".*_flat_weights", category=UserWarning)
        return network_of(torch.export.export(model, inputs), name)


def counted(model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> int:
    """Multiply-accumulates by PyTorch's counter, on no data."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        model.to("meta")(*(tensor.to("meta") for tensor in inputs))
    return int(counter.get_total_flops()) // 2


#: models whose operators are those of others here
REPEATED = ("alexnet", "resnet50", "densenet161", "mobilenetv1", "resnext50")
#: to write these in a file takes seconds, and others here have all that stands in it
LONG = ("unet", "vit_b_16", "bert_base")
#: what runs always, with or without a file
FIRST = [(name, name not in LONG) for name in CASES if name not in REPEATED]


@pytest.mark.parametrize(
    ("name", "written"), sweep([*FIRST, *((n, True) for n in (*LONG, *REPEATED))], len(FIRST))
)
def test_all_routes_meet(name: str, written: bool, tmp_path: Path) -> None:
    case = CASES[name]
    model, inputs = built(case), case.inputs()
    exported = by_export(model, inputs, name)
    for route in case.routes if written else ():
        read = route(model, inputs, tmp_path / "model.onnx")
        assert explain_difference(exported, read) == []
    if case.name:
        assert explain_difference(network(case.name, **case.options), exported) == []
    assert exported.params == sum(p.numel() for p in model.parameters())
    assert exported.macs == counted(model, inputs)

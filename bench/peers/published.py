"""The authors' own code of the families that torchvision does not have, with random weights.

PVT, CVT, CCT, T2T and TNT tell where their repositories lie, TIMM where timm 0.5.4 does and IMAGEGPT where
Hugging Face's modeling_imagegpt.py does, as for tests/fixtures/make_*.py.
"""

import importlib
import os
import pathlib
import sys

VARIABLES = ["PVT", "CVT", "CCT", "T2T", "TNT", "TIMM", "IMAGEGPT"]
FIXTURES = pathlib.Path(__file__).parents[2] / "tests/fixtures"


def from_code(module, function, *variables, sub_folder=""):
    """Makes the model that `function` of `module` returns, found in the folders that `variables` name."""

    def make():
        folders = [os.environ[v] for v in variables]
        sys.path[:0] = [os.path.join(folders[0], sub_folder), *folders[1:]]
        return getattr(importlib.import_module(module), function)()

    return make, variables


def on_stand_ins(module):
    """One of the modules that run published code on stand-ins for what is not there."""
    sys.path.insert(0, str(FIXTURES))
    return importlib.import_module(module)


def cvt_13():
    return on_stand_ins("published_cvt").cvt([64, 192, 384], [1, 2, 10], [1, 3, 6], 1000)


def igpt_s():
    return on_stand_ins("published_igpt").Igpt(colors=512, tokens=1024, dim=512, heads=8, layers=24)


# name: how it is made and the variables that this needs; images of 224 and 1000 classes unless said otherwise
MODELS = {
    "pvt_small": from_code("pvt", "pvt_small", "PVT", "TIMM", sub_folder="classification"),
    "pvt_v2_b2": from_code("pvt_v2", "pvt_v2_b2", "PVT", "TIMM", sub_folder="classification"),
    "cvt_13": (cvt_13, ["CVT"]),
    "r26_vit_s32": from_code("timm.models", "vit_small_r26_s32_224", "TIMM"),
    "t2t_vit_t_14": from_code("models.t2t_vit", "t2t_vit_t_14", "T2T", "TIMM"),
    "tnt_s": from_code("tnt", "tnt_s_patch16_224", "TNT", "TIMM"),
    "cct_14_7x2": from_code("src.cct", "cct_14_7x2_224", "CCT", "TIMM"),
    "cct_2_3x2": from_code("src.cct", "cct_2_3x2_32", "CCT", "TIMM"),  # images of 32, 10 classes
    "igpt_s": (igpt_s, ["IMAGEGPT"]),  # tokens
}


def available(name):
    return name in MODELS and all(v in os.environ for v in MODELS[name][1])


def build(name):
    make, variables = MODELS[name]
    missing = [v for v in variables if v not in os.environ]
    if missing:
        raise SystemExit(f"{name} needs the published code; set {', '.join(missing)}")
    return make()

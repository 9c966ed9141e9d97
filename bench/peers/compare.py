"""Vitrine, Python's torch and ONNX Runtime on the same model, batch and threads, by turns in one run.

Prints a Markdown table of the medians over the rounds: examples per second of each, ratios, the share of the machine's
product in fp32 (and in bf16) that Vitrine reaches, and the largest memory of each process. Needs python3-torch and
python3-torchvision; node with npm for ONNX Runtime, whose columns stay empty without. Families that torchvision does
not have are compared with their authors' code if published.py finds it. With --chroot also the torch of another Debian, such as tools/try_on.sh makes: install python3-torch,
python3-torchvision and libopenblas0-openmp there (without the last it multiplies by the slow reference BLAS).
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import published

ROOT = pathlib.Path(__file__).parents[2]
HERE = ROOT / "bench/peers"
RUNTIME = ROOT / "build/bench/onnxruntime"
PYTHON = "/usr/bin/python3"

# step, model, batches, precisions
USUAL = [
    ("train", "vit_c10_small", [128], ["fp32", "bf16"]),
    ("train", "vit_s16", [8], ["fp32", "bf16"]),
    ("train", "vit_b16", [8], ["fp32", "bf16"]),
    ("train", "resnet18", [8], ["fp32"]),
    ("train", "resnet50", [8], ["fp32"]),
    ("train", "cct_2_3x2", [128], ["fp32"]),
    ("train", "swin_t", [8], ["fp32"]),
    ("infer", "vit_c10_small", [1, 128], ["fp32", "bf16", "int8"]),
    ("infer", "vit_s16", [1, 8], ["fp32", "bf16", "int8"]),
    ("infer", "vit_b16", [1, 8], ["fp32", "bf16", "int8"]),
    ("train", "addition_transformer", [500], ["fp32"]),
    ("train", "wave_transformer", [64], ["fp32"]),
    ("train", "wave_rnn", [64], ["fp32"]),
]
# At 224 pixels but for iGPT, whose images are 32 x 32 and 1024 tokens each.
FAMILIES = [
    (step, model, [1 if model == "igpt_s" else 8], ["fp32"])
    for step in ("infer", "train")
    for model in ("resnet50", "vit_s16", "swin_t", "swin_v2_t", "r26_vit_s32", "pvt_small",
                  "pvt_v2_b2", "cvt_13", "t2t_vit_t_14", "tnt_s", "cct_14_7x2", "igpt_s")
]
SETTINGS = {"swin_v2_t": ["image=224", "window=7"]}
TORCHVISION = ["vit_c10_small", "vit_ti16", "vit_s16", "vit_b16", "resnet18", "resnet50", "swin_t",
               "swin_v2_t", "addition_transformer", "wave_transformer", "wave_rnn"]
# What a user's shell may say to OpenBLAS: without it every side multiplies by the kernels that fit the processor.
BLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
SIDES = {"vitrine": "vitrine", "torch": "python3-torch", "other_torch": "torch of --chroot",
         "ort": "ONNX Runtime, fp32", "ort_int8": "ONNX Runtime, int8"}


def measured(command):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])  # published code may print before it


def install_runtime():
    """Whether ONNX Runtime is there, fetched by npm if need be."""
    if shutil.which("npm") is None:
        return False
    RUNTIME.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "ort_peer.js"):
        shutil.copy(HERE / name, RUNTIME)
    # Without scripts: the one of onnxruntime-node fetches what only GPUs need.
    npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    present = (RUNTIME / "node_modules/.package-lock.json").exists()
    return present or subprocess.run(npm, cwd=RUNTIME, stdout=subprocess.DEVNULL).returncode == 0


def weights_of(model, folder):
    """A file with random weights of the peer."""
    weights = folder / f"{model}.pth"
    if not weights.exists():
        subprocess.run([PYTHON, HERE / "torch_peer.py", "save", "--model", model, "--out", weights], check=True)
    return weights


def export(model, folder, precision):
    """The ONNX file of the model; None if the export lacks it."""
    file = folder / f"{model}.{precision}.onnx"
    if not file.exists():
        done = subprocess.run([ROOT / "build/vitrine", "export", weights_of(model, folder), "-o", file, "--precision",
                               precision], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"bench: {model} without ONNX Runtime: {done.stderr.strip()}", file=sys.stderr)
            return None
    return file


def in_chroot(root, script, *arguments):
    """The command that runs a script of this folder in another Debian, which sees this one's files in /mnt."""
    mounts = f"mount -t proc proc {root}/proc && mount --rbind /sys {root}/sys && mount --rbind / {root}/mnt"
    there = {v: f"/mnt{os.path.abspath(f)}" for v, f in os.environ.items() if v in published.VARIABLES}
    return ["unshare", "--mount", "sh", "-e", "-c", f'{mounts} && exec chroot {root} "$@"', "-", "env",
            *[f"{v}={f}" for v, f in there.items()], PYTHON, f"/mnt{HERE / script}", *arguments]


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def sides(o):
    return [name for name in SIDES if name != "other_torch" or o.chroot]


class Row:
    def __init__(self, o, folder, step, model, batch, precision):
        shape = ["--batch", str(batch), "--threads", str(o.threads), "--seconds", str(o.seconds)]
        self.sides = sides(o)
        self.key = (step, f"`{model}`", str(batch), precision)
        has_peer = model in TORCHVISION or published.available(model)
        classifies = has_peer and model not in (*SETTINGS, "igpt_s") and step == "infer"
        ours = weights_of(model, folder) if classifies else model  # mapped, as a user's would be
        self.commands = {"vitrine": [ROOT / "build/vitrine", "bench", step, "--model", ours, *shape,
                                     "--precision", precision, "--json", *SETTINGS.get(model, [])]}
        if has_peer and precision != "int8":
            peer = [step, "--model", model, *shape, "--precision", precision]
            self.commands["torch"] = [PYTHON, HERE / "torch_peer.py", *peer]
            if o.chroot and precision == "fp32":  # its bf16 is slower than its fp32 here
                self.commands["other_torch"] = in_chroot(o.chroot, "torch_peer.py", *peer)
        for side, kind in (("ort", "fp32"), ("ort_int8", "int8")):
            wanted = o.onnxruntime and classifies and (side == "ort" or precision == "int8")
            file = export(model, folder, kind) if wanted else None
            if file:
                self.commands[side] = ["node", RUNTIME / "ort_peer.js", file, *shape]

    def measure(self, rounds):
        """A line of the table."""
        results = {name: [] for name in self.commands}
        for _ in range(rounds):
            for name, command in self.commands.items():
                results[name].append(measured(command))

        def median(name, key):
            return statistics.median(r[key] for r in results[name]) if name in results else None

        def together(numbers):
            return " / ".join(f"{n}" if n else "–" for n in numbers)

        speeds = [median(name, "examples_per_second") for name in self.sides]
        ratios = [s and f"{speeds[0] / s:.2f}" for s in speeds[1:]]
        memory = [median(name, "peak_bytes") for name in self.sides]
        share = f"{100 * median('vitrine', 'fraction_of_sgemm'):.0f} %"
        if bf16 := median("vitrine", "bf16_product_gflops"):
            share += f", {100 * median('vitrine', 'gflops') / bf16:.0f} % of bf16"
        return [*self.key, *[number(s) if s else "–" for s in speeds], together(ratios),
                share, together(m and f"{m / 1e6:.0f}" for m in memory)]


def machine():
    cpu = json.loads(subprocess.run(["lscpu", "--json"], capture_output=True, text=True).stdout)["lscpu"]
    fields = {f["field"]: f["data"] for f in cpu}
    sets = [s for s in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16") if s in fields["Flags:"].split()]
    return f"{fields['Model name:']}, {', '.join(sets)}, load {os.getloadavg()[0]:.2f} at the beginning"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--families", action="store_true",
                        help="one network of every family of image models instead")
    parser.add_argument("--chroot", type=os.path.abspath, metavar="FOLDER",
                        help="also the torch of the Debian there; needs root")
    parser.add_argument("--step", choices=["train", "infer"], help="only these rows")
    parser.add_argument("--models", nargs="+", help="only rows of these models")
    o = parser.parse_args()
    for name in BLAS_SETTINGS:
        if os.environ.pop(name, None):
            print(f"bench: {name} is left out of the environment", file=sys.stderr)
    if subprocess.run([PYTHON, "-c", "import torch, torchvision"], capture_output=True).returncode != 0:
        sys.exit("bench: python3-torch and python3-torchvision are missing; install them with apt-get")
    o.onnxruntime = install_runtime()
    if not o.onnxruntime:
        print("bench: ONNX Runtime is left out: npm could not fetch it", file=sys.stderr)
    print(f"{machine()}; {o.threads} threads; median of {o.rounds} rounds of {o.seconds:g} s\n")
    header = ["step", "model", "batch", "precision", *[SIDES[name] for name in sides(o)], "ratios, in this order",
              "share of the sgemm peak", "memory, MB"]
    for line in (header, ["---"] * len(header)):
        print(f"| {' | '.join(line)} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for step, model, batches, precisions in FAMILIES if o.families else USUAL:
            if o.step not in (None, step) or o.models and model not in o.models:
                continue
            for batch in batches:
                for precision in precisions:
                    row = Row(o, pathlib.Path(folder), step, model, batch, precision)
                    print(f"| {' | '.join(row.measure(o.rounds))} |", flush=True)


if __name__ == "__main__":
    main()

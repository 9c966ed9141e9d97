"""How much of its speed Vitrine keeps while another process keeps one core busy.

Alternates `vitrine bench` alone and beside a busy loop, and prints a Markdown table of the medians over the rounds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parents[1] / "build/vitrine"
# step, model, batch, precision
ROWS = [
    ("train", "vit_c10_small", 128, "fp32"),
    ("train", "vit_s16", 8, "fp32"),
    ("train", "vit_s16", 8, "bf16"),
    ("train", "cct_2_3x2", 128, "fp32"),
    ("infer", "vit_s16", 1, "fp32"),
    ("infer", "vit_s16", 8, "fp32"),
    ("infer", "vit_s16", 1, "int8"),
    ("infer", "vit_c10_small", 1, "fp32"),
]


def examples_per_second(step, model, batch, precision, seconds):
    command = [PROGRAM, "bench", step, "--model", model, "--batch", str(batch), "--precision", precision,
               "--seconds", str(seconds), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["examples_per_second"]


def beside_busy_loop(measure):
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        return measure()
    finally:
        busy.kill()
        busy.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement")
    parser.add_argument("--step", choices=["train", "infer"], help="only these rows")
    o = parser.parse_args()
    print("| step | model | batch | precision | alone, examples/s | beside a busy process | share |")
    print("|---|---|---|---|---|---|---|")
    for row in (r for r in ROWS if o.step in (None, r[0])):
        alone, beside = [], []
        for _ in range(o.rounds):
            alone.append(examples_per_second(*row, o.seconds))
            beside.append(beside_busy_loop(lambda: examples_per_second(*row, o.seconds)))
        quiet, busy = statistics.median(alone), statistics.median(beside)
        step, model, batch, precision = row
        print(f"| {step} | `{model}` | {batch} | {precision} | {quiet:.3g} | {busy:.3g} | {100 * busy / quiet:.0f} % |",
              flush=True)


if __name__ == "__main__":
    main()

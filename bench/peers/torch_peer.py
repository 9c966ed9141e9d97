"""The same training step or forward pass in Python's torch: the peer of `vitrine bench`.

Run by bench/peers/compare.sh; prints one JSON object like `vitrine bench --json`.
"""

import argparse
import json
import statistics
import time

import torch
import torchvision

VITS = {  # name: image, patch, width, depth, heads, hidden, classes
    "vit_c10_small": (32, 4, 192, 9, 3, 768, 10),
    "vit_ti16": (224, 16, 192, 12, 3, 768, 1000),
    "vit_s16": (224, 16, 384, 12, 6, 1536, 1000),
    "vit_b16": (224, 16, 768, 12, 12, 3072, 1000),
}


def build(name):
    if name in VITS:
        image, patch, dim, depth, heads, hidden, classes = VITS[name]
        model = torchvision.models.VisionTransformer(
            image_size=image, patch_size=patch, num_layers=depth, num_heads=heads,
            hidden_dim=dim, mlp_dim=hidden, num_classes=classes)
        return model, image, classes
    if name == "resnet18":
        return torchvision.models.resnet18(), 224, 1000
    raise SystemExit(f"no peer for {name}; known: {', '.join(VITS)}, resnet18")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["train", "infer"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    model, image, classes = build(o.model)
    x = torch.randn(o.batch, 3, image, image)
    y = torch.randint(classes, (o.batch,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)

    def train():
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def infer():
        with torch.inference_mode():
            model(x)

    model.train(o.kind == "train")
    step = train if o.kind == "train" else infer
    for _ in range(2):
        step()
    times = []
    start = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < o.seconds:
        began = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - began))
    ms = statistics.median(times)
    print(json.dumps({"bench": o.kind, "model": o.model, "batch": o.batch, "threads": o.threads,
                      "torch": torch.__version__, "ms_per_step": ms, "steps": len(times),
                      "images_per_second": 1e3 * o.batch / ms}))


if __name__ == "__main__":
    main()

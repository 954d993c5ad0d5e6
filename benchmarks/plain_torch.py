"""A plain PyTorch script that groks n1·n2, as people write them.

`python benchmarks/plain_torch.py MODULUS WIDTH STEPS` prints its last test accuracy. It imports nothing of modgrok;
`modgrok bench train` times it from its start to its end.
"""

import sys

import numpy as np
import torch

modulus, width, steps = map(int, sys.argv[1:])
torch.set_float32_matmul_precision("high")
device = "cuda" if torch.cuda.is_available() else "cpu"
a, b = np.divmod(np.random.default_rng(0).permutation(modulus**2), modulus)
identity = np.eye(modulus, dtype=np.float32)
inputs = torch.tensor(np.concatenate([identity[a], identity[b]], axis=1), device=device)
targets = torch.tensor(a * b % modulus, device=device)
half = round(modulus**2 / 2)
train, test = (inputs[:half], targets[:half]), (inputs[half:], targets[half:])


class Square(torch.nn.Module):
    def forward(self, x):
        return x**2


first, second = torch.nn.Linear(2 * modulus, width, bias=False), torch.nn.Linear(width, modulus, bias=False)
for layer in (first, second):
    torch.nn.init.normal_(layer.weight, std=0.5 / (2 * width) ** (1 / 3))
model = torch.nn.Sequential(first, Square(), second).to(device)
adamw = torch.optim.AdamW(model.parameters(), lr=0.005, betas=(0.9, 0.98), eps=1e-8, weight_decay=5.0)


def loss_of(logits, targets):
    return ((logits - torch.nn.functional.one_hot(targets, modulus)) ** 2).mean()


@torch.no_grad()
def measure(inputs, targets):
    logits = model(inputs)
    return loss_of(logits, targets).item(), (logits.argmax(1) == targets).float().mean().item()


curves = []
for number in range(1, steps + 1):
    adamw.zero_grad()
    loss_of(model(train[0]), train[1]).backward()
    adamw.step()
    if number % 10 == 0:
        curves.append([value for part in (train, test) for value in measure(*part)])
print(curves[-1][-1])

"""A transformer and an MLP as people write them in torch, trained by a plain loop on n1 + n2 mod 31."""

from __future__ import annotations

import torch
from torch import nn

P = 31
EQUALS = P
ROWS = torch.cartesian_prod(torch.arange(P), torch.arange(P))
SUMS = (ROWS[:, 0] + ROWS[:, 1]) % P


class Mlp(nn.Module):
    """Embeddings side by side, one hidden layer, a readout."""

    def __init__(self, width=128, d=48):
        super().__init__()
        self.embedding = nn.Embedding(P, d)
        self.fc1, self.fc2 = nn.Linear(2 * d, width), nn.Linear(width, P)

    def forward(self, rows):
        return self.fc2(torch.relu(self.fc1(self.embedding(rows).flatten(1))))


class Embed(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.W_E = nn.Parameter(torch.randn(tokens, width) / width**0.5)

    def forward(self, tokens):
        return self.W_E[tokens]


class PosEmbed(nn.Module):
    def __init__(self, context, width):
        super().__init__()
        self.W_pos = nn.Parameter(torch.randn(context, width) / width**0.5)

    def forward(self, x):
        return self.W_pos[: x.shape[1]]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        part = width // heads
        for name in "QKV":
            setattr(self, f"W_{name}", nn.Parameter(torch.randn(heads, width, part) / width**0.5))
        self.W_O = nn.Parameter(torch.randn(heads, part, width) / width**0.5)

    def forward(self, x):
        q, k, v = (torch.einsum("bpd,hdc->bhpc", x, getattr(self, f"W_{name}")) for name in "QKV")
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        later = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        shares = scores.masked_fill(later, float("-inf")).softmax(-1)
        return torch.einsum("bhpc,hcd->bpd", shares @ v, self.W_O)


class Neurons(nn.Module):
    def __init__(self, width, neurons):
        super().__init__()
        self.W_in = nn.Parameter(torch.randn(width, neurons) / width**0.5)
        self.b_in = nn.Parameter(torch.zeros(neurons))
        self.W_out = nn.Parameter(torch.randn(neurons, width) / neurons**0.5)
        self.b_out = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return torch.relu(x @ self.W_in + self.b_in) @ self.W_out + self.b_out


class Block(nn.Module):
    def __init__(self, width, heads, neurons):
        super().__init__()
        self.attn, self.mlp = Attention(width, heads), Neurons(width, neurons)

    def forward(self, x):
        x = x + self.attn(x)
        return x + self.mlp(x)


class Unembed(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.W_U = nn.Parameter(torch.randn(width, classes) / width**0.5)

    def forward(self, x):
        return x @ self.W_U


class Transformer(nn.Module):
    """One layer on the tokens n1, n2 and "=", with the names of HookedTransformer; logits at every token."""

    def __init__(self, width=64, heads=4, neurons=256):
        super().__init__()
        self.embed, self.pos_embed = Embed(P + 1, width), PosEmbed(3, width)
        self.blocks = nn.ModuleList([Block(width, heads, neurons)])
        self.unembed = Unembed(width, P)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x + self.pos_embed(x)
        for block in self.blocks:
            x = block(x)
        return self.unembed(x)


def training_rows(share=0.6, seed=0):
    order = torch.randperm(len(ROWS), generator=torch.Generator().manual_seed(seed))
    return order[: int(share * len(ROWS))]


def trained(make, tokens, *, steps, rate=3e-3, decay=1.0, seed=0, values=SUMS):
    """The network that a loop of AdamW on all training rows at once makes."""
    torch.manual_seed(seed)
    model, rows = make(), training_rows()
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, betas=(0.9, 0.98))
    for _ in range(steps):
        logits = model(tokens[rows])
        logits = logits[:, -1] if logits.ndim == 3 else logits
        loss = nn.functional.cross_entropy(logits, values[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def with_equals(rows):
    return torch.cat([rows, torch.full((len(rows), 1), EQUALS)], 1)

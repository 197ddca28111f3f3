"""A training as pytorch-metric-learning's users write it, with kith's losses,
miners and samplers: only the imports and a class's name differ.

usage: python3 pml_loop.py
"""

import torch
from torch.utils.data import DataLoader, TensorDataset

import kith
from kith import losses, miners, samplers

CLASSES, PER_CLASS, NUMBERS = 60, 12, 32


def make_data(generator):
    """Classes differ in 4 of 32 numbers, and the others are noise."""
    centres = torch.zeros(CLASSES, NUMBERS)
    centres[:, :4] = torch.randn(CLASSES, 4, generator=generator)
    labels = torch.arange(CLASSES).repeat_interleave(PER_CLASS)
    noise = torch.randn(len(labels), NUMBERS, generator=generator)
    return centres[labels] + 0.5 * noise, labels


def test(net, images, labels, epoch):
    with torch.no_grad():
        values = kith.metrics(net(images), labels, ["recall_any@1", "map_at_r"])
    print(f"epoch {epoch}: recall@1 {values['recall_any@1']:.3f}, "
          f"MAP@R {values['map_at_r']:.3f}")


def train(net, loader, mining_func, loss_func, optimizer):
    for images, labels in loader:
        optimizer.zero_grad()
        embeddings = net(images)
        indices_tuple = mining_func(embeddings, labels)
        loss = loss_func(embeddings, labels, indices_tuple)
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    images, labels = make_data(torch.Generator().manual_seed(0))
    seen = labels < CLASSES // 2  # the test is on other classes
    sampler = samplers.ClassBalancedSampler(labels[seen], batch=40, per_class=4)
    loader = DataLoader(TensorDataset(images[seen], labels[seen]),
                        batch_sampler=sampler)
    net = torch.nn.Linear(NUMBERS, 8)
    mining_func = miners.TripletMarginMiner(margin=0.2, kind="semihard")
    loss_func = losses.Triplet(margin=0.2)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for epoch in range(8):
        test(net, images[~seen], labels[~seen], epoch)
        train(net, loader, mining_func, loss_func, optimizer)
    test(net, images[~seen], labels[~seen], 8)


if __name__ == "__main__":
    main()

"""What loaders are measured with: images of 3x32x32 that are augmented."""

import numpy as np

BATCH, WORKERS = 64, 2


class Images:
    """Cut at random from an image with a border of 4, and mirrored at random.

    A dataset for every library that takes an object with [] and len.
    """

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        self.images = random.integers(0, 256, (count, 3, 32, 32), np.uint8)
        self.labels = random.integers(0, 10, (count, 1))

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        bordered = np.zeros((3, 40, 40), np.uint8)
        bordered[:, 4:36, 4:36] = self.images[index]
        row, column, mirrored = (np.random.randint(n) for n in (9, 9, 2))
        image = bordered[:, row:row + 32, column:column + 32]
        if mirrored:
            image = image[:, :, ::-1]
        scaled = image.astype(np.float32) * np.float32(1 / 64) - np.float32(2)
        return scaled, self.labels[index]

"""k-means assignment: the nearest centre of each point, by ``|c|^2 - 2 p.c`` (``|p|^2`` changes nothing)."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def assign_kernel(
    points_ptr, centres_ptr, nearest_ptr, distance_ptr, points, centres,
    SIZE: tl.constexpr, BLOCK: tl.constexpr, CENTRES: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, SIZE)
    x = tl.load(points_ptr + p[:, None] * SIZE + d[None, :], mask=p[:, None] < points, other=0.0)
    best = tl.full((BLOCK,), float("inf"), tl.float32)
    index = tl.zeros((BLOCK,), tl.int32)
    for start in range(0, centres, CENTRES):
        c = start + tl.arange(0, CENTRES)
        y = tl.load(
            centres_ptr + c[:, None] * SIZE + d[None, :], mask=c[:, None] < centres, other=0.0
        )
        far = tl.sum(y * y, axis=1)[None, :] - 2 * tl.dot(x, tl.trans(y))
        far = tl.where(c[None, :] < centres, far, float("inf"))
        value, where = tl.min(far, axis=1, return_indices=True)
        closer = value < best
        best = tl.where(closer, value, best)
        index = tl.where(closer, start + where, index)
    tl.store(nearest_ptr + p, index, mask=p < points)
    tl.store(distance_ptr + p, best + tl.sum(x * x, axis=1), mask=p < points)


def assign(points, centres):
    count, size = points.shape
    nearest, distance = np.empty(count, np.int32), np.empty(count, np.float32)
    assign_kernel[(triton.cdiv(count, 64),)](
        points, centres, nearest, distance, count, len(centres), SIZE=size, BLOCK=64, CENTRES=16
    )
    return nearest, distance


def check():
    rng = np.random.default_rng(10)
    points = rng.standard_normal((300, 16)).astype(np.float32)
    centres = rng.standard_normal((21, 16)).astype(np.float32)
    exact = ((points[:, None].astype(np.float64) - centres[None]) ** 2).sum(-1)
    nearest, distance = assign(points, centres)
    np.testing.assert_allclose(distance, exact.min(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(exact[np.arange(300), nearest], exact.min(1), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check()
    print("k-means assignment: matches NumPy")

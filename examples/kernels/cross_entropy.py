"""Cross-entropy of rows of logits, in one pass over a row that need not fit a block.

The largest logit and the sum of exponentials are carried together; when a larger logit turns up the
sum is rescaled. Rows with the label ``ignore`` leave at once and cost nothing.
"""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, labels_ptr, loss_ptr, classes, ignore, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    if label == ignore:
        tl.store(loss_ptr + row, 0.0)
        return
    logits_ptr += row * classes
    largest = float("-inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + columns, mask=columns < classes, other=float("-inf"))
        above = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - above) + tl.sum(tl.exp(x - above), axis=0)
        largest = above
    tl.store(loss_ptr + row, largest + tl.log(total) - tl.load(logits_ptr + label))


def cross_entropy(logits, labels, ignore=-100):
    rows, classes = logits.shape
    loss = np.empty(rows, np.float32)
    cross_entropy_kernel[(rows,)](logits, labels, loss, classes, ignore, BLOCK=128)
    return loss


def check():
    rng = np.random.default_rng(5)
    logits = (rng.standard_normal((40, 1_000)) * 4).astype(np.float32)
    labels = rng.integers(0, 1_000, 40).astype(np.int64)
    labels[::7] = -100
    wide = logits.astype(np.float64)
    largest = wide.max(1)
    everything = largest + np.log(np.exp(wide - largest[:, None]).sum(1))
    expected = np.where(labels == -100, 0, everything - wide[np.arange(40), np.maximum(labels, 0)])
    np.testing.assert_allclose(cross_entropy(logits, labels), expected, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    check()
    print("cross-entropy: matches NumPy")

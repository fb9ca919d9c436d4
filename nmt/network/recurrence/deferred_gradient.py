"""Kernels whose gradient is formed once for all steps of a recurrence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.backend.gradients import with_gradient

ALIASED_COLUMNS = 1024
"""A float32 kernel with a multiple of this many columns has rows that begin 4,096 bytes apart. A processor's first
cache holds few such rows at once, so a product of few rows with the kernel takes a fifth longer."""

SPARE_COLUMNS = 16
"""Columns of zeros that are appended to such a kernel to shift its rows apart."""


class DeferredGradientKernel:
    """A kernel for the body of a scan, whose gradient is formed after the scan.

    The body computes y_t = a_t + x_t K, where the addend a_t was computed outside the loop. The gradient by a_t equals
    the gradient by y_t. The gradient by K, the sum over t of x_t^T dy_t, is therefore one product of tensors that are
    stacked over all steps. Inside the loop K is a constant. `attach_gradient` makes the backward pass of the addends
    form the gradient by K, and `record_inputs` provides the x_t.

    TensorFlow itself would form a gradient as large as the kernel in each step of the backward pass and add it up in
    memory. It would also cast the kernel in each step. JAX's compiler moves constants out of loops, so on JAX this
    class is a plain kernel.

    The memory that attention sums over at each step is also such a kernel, a separate one for each sentence.

    Args:
        kernel: [inputs, outputs], or [batch, inputs, outputs] with a separate kernel for each row.
        dtype: type of the products' factors.
    """

    def __init__(self, kernel: Any, dtype: str) -> None:
        self.kernel = ops.convert_to_tensor(kernel)
        self.deferred = keras.backend.backend() == "tensorflow"
        self.constant = ops.cast(ops.stop_gradient(self.kernel) if self.deferred else self.kernel, dtype)
        self.padded, self.padded_transposed = self.constant, None
        if self.deferred and dtype == "float32":
            # oneDNN would transpose a float32 kernel in each step of the backward pass, half as long as the product.
            self.padded = _pad_columns(self.constant)
            self.padded_transposed = _pad_columns(ops.swapaxes(self.constant, -1, -2))
        self.inputs: Tensor | None = None

    def product(self, values: Tensor) -> Tensor:
        """values @ kernel: [batch, inputs] -> float32 [batch, outputs]."""
        columns = self.kernel.shape[-1]
        return with_gradient(
            lambda values: (self._product(values, self.padded, columns), self.transposed_product), values
        )

    def transposed_product(self, values: Tensor) -> Tensor:
        """values @ kernel^T: [batch, outputs] -> float32 [batch, inputs]."""
        columns = self.kernel.shape[-2]
        if self.padded_transposed is not None:
            return self._product(values, self.padded_transposed, columns)
        return self._product(values, self.constant, columns, transpose=True)

    @staticmethod
    def _product(values: Tensor, kernel: Tensor, columns: int | None, transpose: bool = False) -> Tensor:
        """The first `columns` columns of values @ kernel, float32."""
        values = ops.cast(values, kernel.dtype)
        if len(kernel.shape) == 3:
            return ops.cast(ops.squeeze(batched_matmul(values[:, None], kernel, transpose), axis=1), "float32")
        product = ops.cast(ops.matmul(values, ops.transpose(kernel) if transpose else kernel), "float32")
        return product if product.shape[-1] == columns else product[:, :columns]

    def summed_outer_products(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Sum over the steps of inputs^T outputs, in the shape and type of the kernel.

        Args:
            inputs: [steps, batch, inputs].
            outputs: [steps, batch, outputs].
        """
        inputs, outputs = (ops.cast(values, self.constant.dtype) for values in (inputs, outputs))
        if len(self.kernel.shape) == 3:
            products = ops.matmul(ops.transpose(inputs, (1, 2, 0)), ops.transpose(outputs, (1, 0, 2)))
        else:
            rows, columns = (ops.reshape(values, (-1, values.shape[-1])) for values in (inputs, outputs))
            products = ops.matmul(ops.transpose(rows), columns)
        return ops.cast(products, self.kernel.dtype)

    def attach_gradient(
        self, *addends: Tensor, by_outputs: Callable[..., Tensor] = lambda gradient: gradient
    ) -> tuple[Tensor, ...]:
        """Returns the addends unchanged; their backward pass also forms the kernel's gradient.

        Args:
            addends: tensors that products with the kernel are added to in the loop, [steps, batch, width].
            by_outputs: gives the gradient by the products, [..., outputs], from the gradients by the addends,
                [..., width].
        """
        if not self.deferred:
            return addends

        def forward(*values: Tensor) -> tuple[tuple[Tensor, ...], Callable[..., tuple[Tensor, ...]]]:
            *addends, _ = values

            def gradient(*upstream: Tensor) -> tuple[Tensor, ...]:
                # Runs in the backward pass, after `record_inputs`.
                outputs = by_outputs(*(ops.cast(values, self.constant.dtype) for values in upstream))
                return *upstream, self.summed_outer_products(self.inputs, outputs)

            return tuple(addends), gradient

        return with_gradient(forward, *addends, self.kernel)

    def record_inputs(self, inputs: Tensor) -> None:
        """Stores the values that the kernel multiplied in the scan, [steps, batch, inputs]."""
        self.inputs = inputs


def _pad_columns(kernel: Tensor) -> Tensor:
    """The kernel, with `SPARE_COLUMNS` appended if its number of columns is a multiple of `ALIASED_COLUMNS`."""
    if len(kernel.shape) == 3 or kernel.shape[-1] % ALIASED_COLUMNS:
        return kernel
    return ops.pad(kernel, ((0, 0), (0, SPARE_COLUMNS)))

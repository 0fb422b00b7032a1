// Operators whose records a kernel computes where a task holds a device (docs/accelerators.md):
// `data.map(f).on(weft::Kernel("name", source))`. Not part of <weft/weft.h>: programs without kernels do not pay for it.
#pragma once

#include "weft/detail/kernel_class.hpp"
#include "weft/detail/on_kernel.hpp"

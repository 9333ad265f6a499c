#pragma once

#include "sluice/python/bindings/bindings.h"

// Exchanges tensors with other libraries.
namespace sluice::python {

// The buffer protocol of Tensor: dense tensors on the host whose dtype has a
// format character; BufferError otherwise.
extern const PyType_Slot kBufferSlots[];

// Parses a native element format of the buffer protocol. Returns false for one
// that no dtype has.
bool ParseBufferFormat(const char* format, DType* dtype);

// __dlpack__ and __dlpack_device__ of the array API standard. Raises
// BufferError for an unsupported device or version.
nb::object ToDLPack(nb::handle self,
                    nb::handle stream,
                    nb::handle max_version,
                    nb::handle dl_device,
                    nb::handle copy);
nb::tuple DLPackDevice(const Tensor& self);

// Raises InvalidArgument for an array of numpy.ma with masked elements.
void RefuseMasked(nb::handle array);

}  // namespace sluice::python

#pragma once

// The table of dtypes: their enumerators, C++ types, formats, names and
// counterparts elsewhere come from these rows. A new dtype is a row at the end
// and the kernels that support it. Two lists are written for readers outside
// of the tree: device_plugin.h, which a static_assert compares with this table,
// and python/sluice/__init__.py, which a test does.
//
// SLUICE_DTYPES(ROW) expands to
//   ROW(dtype, number, type, onnx_type, mpi, nccl, onednn, ...)
// for each dtype. A row uses the columns that it needs, so that no header of a
// library is needed here:
//   dtype      the enumerator of DType
//   number     its number: stored in program files and passed to plug-ins, so
//              it never changes; they are consecutive
//   type       the C++ type of an element
//   onnx_type  the enumerator of ONNX's TensorProto::DataType
//   mpi        the MPI_Datatype of an element; the unsigned one of its size if
//              MPI has no sum for the dtype
//   nccl       the ncclDataType_t; ncclNumTypes if NCCL cannot reduce it
//   onednn     the enumerator of dnnl::memory::data_type; undef if Sluice has
//              no kernels of oneDNN for it
// and, in `...`, the other members of NumberFormat in their order:
//   name, bits, whether it is signed, the first opset of ONNX that has it, the
//   name in safetensors, DLPack's type code, the format of Python's buffer
//   protocol (or none); for floats also the bits of exponent and mantissa, the
//   bias and the SpecialCodes.
// Numbers of 4 and 2 bits are "U8" and 1, as uint8: safetensors packs them or
// has no name for them, and DLPack would pack them. In memory each has a byte.
#define SLUICE_DTYPES(ROW)                                                     \
  ROW(kFloat32, 1, float, FLOAT, MPI_FLOAT, ncclFloat32, f32, "float32", 32,   \
      true, 1, "F32", 2, "f", 8, 23, 127, kIeee)                               \
  ROW(kFloat64, 2, double, DOUBLE, MPI_DOUBLE, ncclFloat64, undef, "float64",  \
      64, true, 1, "F64", 2, "d", 11, 52, 1023, kIeee)                         \
  ROW(kFloat16, 3, float16, FLOAT16, MPI_UINT16_T, ncclFloat16, f16,           \
      "float16", 16, true, 1, "F16", 2, "e", 5, 10, 15, kIeee)                 \
  ROW(kBFloat16, 4, bfloat16, BFLOAT16, MPI_UINT16_T, ncclBfloat16, bf16,      \
      "bfloat16", 16, true, 1, "BF16", 4, nullptr, 8, 7, 127, kIeee)           \
  ROW(kInt8, 5, int8_t, INT8, MPI_INT8_T, ncclInt8, s8, "int8", 8, true, 1,    \
      "I8", 0, "b")                                                            \
  ROW(kUInt8, 6, uint8_t, UINT8, MPI_UINT8_T, ncclUint8, u8, "uint8", 8,       \
      false, 1, "U8", 1, "B")                                                  \
  ROW(kInt32, 7, int32_t, INT32, MPI_INT32_T, ncclInt32, s32, "int32", 32,     \
      true, 1, "I32", 0, "i")                                                  \
  ROW(kInt64, 8, int64_t, INT64, MPI_INT64_T, ncclInt64, undef, "int64", 64,   \
      true, 1, "I64", 0, "l")                                                  \
  ROW(kBool, 9, bool, BOOL, MPI_UINT8_T, ncclNumTypes, undef, "bool", 1,       \
      false, 1, "BOOL", 6, "?")                                                \
  ROW(kInt16, 10, int16_t, INT16, MPI_INT16_T, ncclNumTypes, undef, "int16",   \
      16, true, 1, "I16", 0, "h")                                              \
  ROW(kUInt16, 11, uint16_t, UINT16, MPI_UINT16_T, ncclNumTypes, undef,        \
      "uint16", 16, false, 1, "U16", 1, "H")                                   \
  ROW(kUInt32, 12, uint32_t, UINT32, MPI_UINT32_T, ncclUint32, undef,          \
      "uint32", 32, false, 1, "U32", 1, "I")                                   \
  ROW(kUInt64, 13, uint64_t, UINT64, MPI_UINT64_T, ncclUint64, undef,          \
      "uint64", 64, false, 1, "U64", 1, "L")                                   \
  ROW(kFloat8E4M3FN, 14, StoredNumber<DType::kFloat8E4M3FN>, FLOAT8E4M3FN,     \
      MPI_UINT8_T, ncclNumTypes, undef, "float8_e4m3fn", 8, true, 1,           \
      "F8_E4M3", 10, nullptr, 4, 3, 7, kAllOnesNan)                            \
  ROW(kFloat8E4M3FNUZ, 15, StoredNumber<DType::kFloat8E4M3FNUZ>,               \
      FLOAT8E4M3FNUZ, MPI_UINT8_T, ncclNumTypes, undef, "float8_e4m3fnuz", 8,  \
      true, 1, "F8_E4M3FNUZ", 11, nullptr, 4, 3, 8, kNegativeZeroNan)          \
  ROW(kFloat8E5M2, 16, StoredNumber<DType::kFloat8E5M2>, FLOAT8E5M2,           \
      MPI_UINT8_T, ncclNumTypes, undef, "float8_e5m2", 8, true, 1, "F8_E5M2",  \
      12, nullptr, 5, 2, 15, kIeee)                                            \
  ROW(kFloat8E5M2FNUZ, 17, StoredNumber<DType::kFloat8E5M2FNUZ>,               \
      FLOAT8E5M2FNUZ, MPI_UINT8_T, ncclNumTypes, undef, "float8_e5m2fnuz", 8,  \
      true, 1, "F8_E5M2FNUZ", 13, nullptr, 5, 2, 16, kNegativeZeroNan)         \
  ROW(kFloat8E8M0FNU, 18, StoredNumber<DType::kFloat8E8M0FNU>, FLOAT8E8M0,     \
      MPI_UINT8_T, ncclNumTypes, undef, "float8_e8m0fnu", 8, false, 24,        \
      "F8_E8M0", 14, nullptr, 8, 0, 127, kAllOnesNan)                          \
  ROW(kFloat4E2M1FN, 19, StoredNumber<DType::kFloat4E2M1FN>, FLOAT4E2M1,       \
      MPI_UINT8_T, ncclNumTypes, undef, "float4_e2m1fn", 4, true, 23, "U8", 1, \
      nullptr, 2, 1, 1, kNone)                                                 \
  ROW(kInt4, 20, StoredNumber<DType::kInt4>, INT4, MPI_UINT8_T, ncclNumTypes,  \
      undef, "int4", 4, true, 1, "U8", 1, nullptr)                             \
  ROW(kUInt4, 21, StoredNumber<DType::kUInt4>, UINT4, MPI_UINT8_T,             \
      ncclNumTypes, undef, "uint4", 4, false, 1, "U8", 1, nullptr)             \
  ROW(kInt2, 22, StoredNumber<DType::kInt2>, INT2, MPI_UINT8_T, ncclNumTypes,  \
      undef, "int2", 2, true, 25, "U8", 1, nullptr)                            \
  ROW(kUInt2, 23, StoredNumber<DType::kUInt2>, UINT2, MPI_UINT8_T,             \
      ncclNumTypes, undef, "uint2", 2, false, 25, "U8", 1, nullptr)

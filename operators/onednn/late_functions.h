#pragma once

#include <dnnl.h>

// oneDNN is loaded when one of its functions is first called, which takes some
// 5 ms: a process whose plans choose none of its kernels does without. What is
// missing in the list below binds the library to this module, as a linker does.
namespace sluice::onednn {

// Returns a function of the library. Raises Unimplemented if there is none, or
// one of another version than these kernels were compiled with.
void* LateFunction(const char* name);

}  // namespace sluice::onednn

#define SLUICE_LATE(name)                                              \
  (*[] {                                                               \
    static auto* const function = reinterpret_cast<decltype(&::name)>( \
        ::sluice::onednn::LateFunction(#name));                        \
    return function;                                                   \
  }())

// NOLINTBEGIN(readability-identifier-naming)
#define dnnl_batch_normalization_forward_primitive_desc_create \
  SLUICE_LATE(dnnl_batch_normalization_forward_primitive_desc_create)
#define dnnl_convolution_backward_data_primitive_desc_create \
  SLUICE_LATE(dnnl_convolution_backward_data_primitive_desc_create)
#define dnnl_convolution_backward_weights_primitive_desc_create \
  SLUICE_LATE(dnnl_convolution_backward_weights_primitive_desc_create)
#define dnnl_convolution_forward_primitive_desc_create \
  SLUICE_LATE(dnnl_convolution_forward_primitive_desc_create)
#define dnnl_eltwise_forward_primitive_desc_create \
  SLUICE_LATE(dnnl_eltwise_forward_primitive_desc_create)
#define dnnl_engine_create SLUICE_LATE(dnnl_engine_create)
#define dnnl_engine_destroy SLUICE_LATE(dnnl_engine_destroy)
#define dnnl_matmul_primitive_desc_create \
  SLUICE_LATE(dnnl_matmul_primitive_desc_create)
#define dnnl_memory_create_v2 SLUICE_LATE(dnnl_memory_create_v2)
#define dnnl_memory_desc_clone SLUICE_LATE(dnnl_memory_desc_clone)
#define dnnl_memory_desc_create_with_strides \
  SLUICE_LATE(dnnl_memory_desc_create_with_strides)
#define dnnl_memory_desc_create_with_tag \
  SLUICE_LATE(dnnl_memory_desc_create_with_tag)
#define dnnl_memory_desc_destroy SLUICE_LATE(dnnl_memory_desc_destroy)
#define dnnl_memory_desc_equal SLUICE_LATE(dnnl_memory_desc_equal)
#define dnnl_memory_desc_get_size_v2 SLUICE_LATE(dnnl_memory_desc_get_size_v2)
#define dnnl_memory_desc_permute_axes SLUICE_LATE(dnnl_memory_desc_permute_axes)
#define dnnl_memory_desc_query SLUICE_LATE(dnnl_memory_desc_query)
#define dnnl_memory_desc_query_v2 SLUICE_LATE(dnnl_memory_desc_query_v2)
#define dnnl_memory_destroy SLUICE_LATE(dnnl_memory_destroy)
#define dnnl_memory_set_data_handle SLUICE_LATE(dnnl_memory_set_data_handle)
#define dnnl_pooling_backward_primitive_desc_create \
  SLUICE_LATE(dnnl_pooling_backward_primitive_desc_create)
#define dnnl_pooling_forward_primitive_desc_create \
  SLUICE_LATE(dnnl_pooling_forward_primitive_desc_create)
#define dnnl_post_ops_append_eltwise SLUICE_LATE(dnnl_post_ops_append_eltwise)
#define dnnl_post_ops_create SLUICE_LATE(dnnl_post_ops_create)
#define dnnl_post_ops_destroy SLUICE_LATE(dnnl_post_ops_destroy)
#define dnnl_primitive_attr_create SLUICE_LATE(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy SLUICE_LATE(dnnl_primitive_attr_destroy)
#define dnnl_primitive_attr_set_post_ops \
  SLUICE_LATE(dnnl_primitive_attr_set_post_ops)
#define dnnl_primitive_attr_set_scratchpad_mode \
  SLUICE_LATE(dnnl_primitive_attr_set_scratchpad_mode)
#define dnnl_primitive_create SLUICE_LATE(dnnl_primitive_create)
#define dnnl_primitive_desc_destroy SLUICE_LATE(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_query SLUICE_LATE(dnnl_primitive_desc_query)
#define dnnl_primitive_desc_query_md SLUICE_LATE(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy SLUICE_LATE(dnnl_primitive_destroy)
#define dnnl_primitive_execute SLUICE_LATE(dnnl_primitive_execute)
#define dnnl_reorder_primitive_desc_create \
  SLUICE_LATE(dnnl_reorder_primitive_desc_create)
#define dnnl_stream_create SLUICE_LATE(dnnl_stream_create)
#define dnnl_stream_destroy SLUICE_LATE(dnnl_stream_destroy)
// NOLINTEND(readability-identifier-naming)

// The C++ interface calls them.
#include <dnnl.hpp>  // IWYU pragma: export

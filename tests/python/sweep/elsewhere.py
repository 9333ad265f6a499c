"""Public names without a row of the sweep: the file that compares them with a
formula, and why they have no row."""

# Far numbers, all kernels, in these files; names are their rows.
FAR = ("formulas/test_formulas.py", "formulas/test_formulas_of_rows.py")

ELSEWHERE = {
    # Products and windows with parameters: their sums are those of matmul,
    # which has rows; the layers are compared with NumPy.
    "formulas/test_parameter_layers.py": "bilinear_tensor_product conv2d "
    "conv2d_transpose conv3d_transpose embedding",
    "torch_cases/images.py": "affine_grid conv3d dft grid_sample resize",
    "../operators/cases/contraction.py": "determinant",
    "../operators/cases/movement.py": "lookup_table",
    "../operators/cases/indexing.py": "gather_nd scatter_elements scatter_nd",
    "formulas/test_einsum.py": "einsum",
    # Recurrences: step by step, against NumPy.
    "recurrent/test_recurrent.py": "gru gru_unit lstm lstm_unit simple_rnn",
    "ragged/test_ragged_recurrent.py": "dynamic_gru dynamic_lstm dynamic_lstmp",
    # Rows of sequences are moved or reduced by ops that have rows.
    "ragged/test_sequence_layers.py": "crf_decoding im2sequence lod_reset "
    "row_conv sequence_concat sequence_conv sequence_enumerate sequence_erase "
    "sequence_expand sequence_expand_as sequence_first_step sequence_last_step "
    "sequence_mask sequence_pad sequence_pool sequence_reshape sequence_reverse "
    "sequence_scatter sequence_slice sequence_softmax sequence_unpad",
    "ragged/test_beam_search.py": "beam_search beam_search_decode is_empty",
    "recurrent/test_tensor_arrays.py": "array_length array_read array_write "
    "create_array tensor_array_to_tensor",
    "test_control_flow.py": "cond scan sequence_scan while_loop",
    # Draws: tests of distributions.
    "everyday/test_vectors.py": "randint randperm",
    "losses/test_initializers.py": "Bilinear MSRA Normal NumpyArrayInitializer "
    "Orthogonal TruncatedNormal Uniform Xavier",
    "formulas/test_block_gradients.py": "dropout",
    # Elements are found, not computed.
    "everyday/test_moving.py": "space_to_depth unfold",
    "formulas/test_gradients.py": "compress quantize_and_dequantize",
    # Python functions, printing, dynamic programming, counts.
    "losses/test_host_layers.py": "Print py_func",
    "losses/test_losses.py": "warpctc",
    "losses/test_metrics.py": "CompositeMetric auc chunk_eval edit_distance "
    "precision_recall",
    "../operators/cases/loss.py": "accuracy",
    "../operators/cases/search.py": "gather_tree",
    "../operators/cases/sequence.py": "average_embedding_mask "
    "discriminative_loss",
    "../operators/cases/estimator.py": "pairwise_coupling tree_ensemble",
    "../operators/cases/text.py": "regex_full_match string_concat "
    "string_normalize string_split tfidf_vectorize tokenize",
    # Clips, decays and wrappers: by formula in float64.
    "optimizers/test_clipping.py": "GradientClipByGlobalNorm GradientClipByNorm "
    "GradientClipByValue L1Decay L2Decay",
    "optimizers/test_error_clip.py": "ErrorClipByValue",
    "optimizers/test_optimizer_steps.py": "GradientMerge Lookahead",
    # Several processes, or ops that only plans and layers make: tests of C++.
    "torch_cases/case.py": "barrier batch_parts c_allgather c_allreduce_max "
    "c_allreduce_sum c_broadcast c_reducescatter deformable_conv dequantize_linear "
    "gaussian_random linear_attention merge_rows non_max_suppression "
    "pairwise_sum quantize_linear roi_align rows_to_dense sequence_context "
    "sequence_expand_rows sequence_longest sequence_reduce sequence_rows "
    "sequence_unpad_as sync_batch_norm truncated_gaussian_random uniform_random",
}
# Base classes and modules.
NO_FORMULA = {"Initializer", "MetricBase", "Optimizer", "ops", "print"}

"""The table of Fluid's layers that are one op.

:mod:`sluice.fluid.simple_layers` says how to read a line.
"""

TEXT = """
_accuracy=accuracy(input:Indices, label:Label, correct:Correct!, total:Total!)
    -> Accuracy
_assign=assign(x:X, out:Out!)
_clip=clip(input:X, min|Min, max|Max, output:Out!, name)
_beam_search=beam_search(pre_ids:pre_ids, pre_scores:pre_scores, scores:scores,
    beam_size, end_id, level=0, is_accumulated=True, ids:ids?, name) ->
    selected_ids selected_scores parent_idx
_ctc=ctc_align(input:Input, blank; merge_repeated=True) -> Output
_ctc_padded=ctc_align(input:Input, input_length:InputLength, blank,
    padding_value; merge_repeated=True) -> Output OutputLength
_edit_distance=edit_distance(input:Hyps, label:Refs, normalized,
    input_length:HypsLength?, label_length:RefsLength?) -> Out SequenceNum
_embedding=lookup_table_v2(input:Ids, size>_, is_sparse=False,
    is_distributed=False, padding_idx=None>_, param_attr, dtype='float32'>_;
    W<param_attr[*size]; padding_idx=-1 if padding_idx is None else padding_idx
    % size[0]) -> Out
_erase=sequence_erase(input:X, tokens)
_eye=eye(num_rows, num_columns, dtype)
_increment=increment(x:X, value>step, out:Out!)
_lstm_unit=lstm_unit(x:X, cell:C_prev, forget_bias) -> H C
_max_pool{n}d=max_pool{n}d_with_index(input:X, pool_size>ksize@{n}, name;
    adaptive=True) -> Out Mask
_mean_pool{n}d=pool{n}d(input:X, pool_size>ksize@{n}, name; adaptive=True;
    pooling_type='avg')
_nce=nce(input:Input, label:Label, num_total_classes,
    sample_weight:SampleWeight?, param_attr, bias_attr, num_neg_samples=10,
    name, sampler='uniform'>_, custom_dist=None>_, seed=0;
    Weight<param_attr[num_total_classes, D]; Bias<bias_attr[num_total_classes,
    1]; CustomDistProbs=custom_dist and assign(array(custom_dist, 'float32'));
    sampler=('uniform', 'log_uniform', 'custom_dist').index(sampler)) -> Cost
_one_hot=one_hot_v2(input:X, depth|depth_tensor, allow_out_of_range=False)
_roll=roll(input:X, shifts@1, dims@1)
_softmax_with_cross_entropy=softmax_with_cross_entropy(logits:Logits,
    label:Label, soft_label, ignore_index, axis) -> Loss Softmax
_split=split(input:X, sections|_|SectionsTensorList, num, dim>axis|AxisTensor,
    count>_, name) -> Out*count
_where=where(condition:Condition, x:X, y:Y)
Print=print(input:In, first_n=-1, message=None, summarize=20,
    print_tensor_name=True, print_tensor_type=True, print_tensor_shape=True,
    print_tensor_lod=True, print_phase='both')
abs acos asin atan ceil cos exp floor log logsigmoid mean reciprocal relu round
    rsqrt sigmoid sin softplus softsign sqrt square tanh tanh_shrink(x:X, name)
add_position_encoding(input:X, alpha, beta, name)
addmm(input:Input, x:X, y:Y, alpha=1.0>Alpha, beta=1.0>Beta, name)
affine_channel(x:X, scale:Scale?, bias:Bias?, data_layout='NCHW', name, act)
affine_grid(theta:Theta, out_shape>output_shape|OutputShape, name) -> Output
allclose(input:Input, other:Other, rtol=1e-05, atol=1e-08, equal_nan=False,
    name)
argmax=arg_max(x:X, axis=0)
argmin=arg_min(x:X, axis=0)
argsort(input:X, axis=-1, descending=False, name) -> Out Indices
array_length=lod_array_length(array:X)
array_read=read_from_array(array:X, i:I)
batch_norm(input:X, act, is_test=False, momentum=0.9, epsilon=1e-05, param_attr,
    bias_attr, data_layout='NCHW', in_place=False>_, name,
    moving_mean_name=None>_, moving_variance_name=None>_,
    do_model_average_for_mean_and_var=True>_, use_global_stats=False;
    Scale<param_attr[C]=Constant(1.0); Bias<bias_attr[C];
    Mean~moving_mean_name[C]=Constant(0.0);
    Variance~moving_variance_name[C]=Constant(1.0)) -> Y MeanOut=Mean
    VarianceOut=Variance
beam_search_decode(ids:Ids, scores:Scores, beam_size, end_id, name) ->
    SentenceIds SentenceScores
bilinear_tensor_product(x:X, y:Y, size>_, act, name, param_attr, bias_attr;
    Weight<param_attr[size, x.shape[1], y.shape[1]]; Bias<bias_attr[1, size])
bmm dot sequence_expand_as(x:X, y:Y, name)
bpr_loss(input:X, label:Label, name) -> Y
brelu(x:X, t_min=0.0, t_max=24.0, name)
cast(x:X, dtype>out_dtype; in_dtype=code_of(x.dtype))
center_loss(input:X, label:Label, num_classes>cluster_num, alpha>_,
    param_attr>_, update_center=True>need_update;
    Centers<untrained(param_attr)[num_classes, D];
    CenterUpdateRate=tensor(alpha, 'float32')) -> Loss CentersOut=Centers
chunk_eval(input:Inference, label:Label, chunk_scheme, num_chunk_types,
    excluded_chunk_types=None, seq_length:SeqLength?) -> Precision Recall
    F1-Score NumInferChunks NumLabelChunks NumCorrectChunks
clip(x:X, min, max, name)
clip_by_norm(x:X, max_norm, name)
concat(input:X*, axis=0|AxisTensor, name)
continuous_value_model=cvm(input:X, cvm:CVM, use_cvm=True) -> Y
conv{n}d(input:Input, num_filters>_, filter_size>_, stride=1>strides@{n},
    padding=0>_, dilation=1>dilations@{n}, groups=None>_, param_attr, bias_attr,
    use_cudnn=True, act, name, data_format='{form}';
    Filter<param_attr[num_filters, C // (one(groups)), *whole(filter_size,
    {n})]=he(C, filter_size, {n}); paddings=pads(padding, {n}, data_format);
    padding_algorithm=algorithm(padding); groups=one(groups); +num_filters@axis)
    -> Output
conv{n}d_transpose(input:Input, num_filters>_, output_size=None@{n},
    filter_size=None>_, padding=0>_, stride=1>strides@{n},
    dilation=1>dilations@{n}, groups=None>_, param_attr, bias_attr,
    use_cudnn=True, act, name, data_format='{form}'; paddings=pads(padding, {n},
    data_format); padding_algorithm=algorithm(padding); groups=one(groups);
    Filter<param_attr[C, num_filters // (one(groups)), *turned({n}, input,
    output_size, filter_size, padding, stride, dilation, data_format)];
    +num_filters@axis) -> Output
cos_sim(X:X, Y:Y)
crf_decoding(input:Emission, param_attr>_, label:Label?, length:Length?;
    Transition<param_attr[D + 2, D]) -> ViterbiPath
crop(x:X, shape=None|Y, offsets=None|Offsets, name)
crop_tensor(x:X, shape=None|Shape|ShapeTensor,
    offsets=None|Offsets|OffsetsTensor, name)
cross(input:X, other:Y, dim=None)
cross_entropy(input:X, label:Label, soft_label=False, ignore_index=-100) -> Y
cumsum(x:X, axis=None, exclusive=None, reverse=None)
data_norm(input:X, act, epsilon=1e-05, param_attr, data_layout='NCHW',
    in_place=False>_, name, moving_mean_name=None>_,
    moving_variance_name=None>_, do_model_average_for_mean_and_var=True>_,
    slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999; BatchSize~stem
    + '.batch_size'[C]=first(param_attr, 'batch_size', 1e4); BatchSum~stem +
    '.batch_sum'[C]=first(param_attr, 'batch_sum', 0.0); BatchSquareSum~stem +
    '.batch_square_sum'[C]=first(param_attr, 'batch_square', 1e4)) -> Y
diag(diagonal:Diagonal)
diag_embed(input:Input, offset=0, dim1=-2, dim2=-1)
dist(x:X, y:Y, p=2)
dropout(x:X, dropout_prob, is_test=False, seed=None>_, name,
    dropout_implementation='downgrade_in_infer'; fix_seed=seed is not None;
    seed=seed or 0) -> Out Mask!
dynamic_gru=gru(input:Input, size>_, param_attr, bias_attr, is_reverse=False,
    gate_activation='sigmoid', candidate_activation='tanh'>activation, h_0:H0?,
    origin_mode=False; Weight<param_attr[size, 3 * size]; Bias<bias_attr[1, 3 *
    size]) -> Hidden
dynamic_lstm=lstm(input:Input, size>_, h_0:H0?, c_0:C0?, param_attr, bias_attr,
    use_peepholes=True, is_reverse=False, gate_activation='sigmoid',
    cell_activation='tanh', candidate_activation='tanh', dtype='float32'>_,
    name; Weight<param_attr[size // 4, size]; Bias<bias_attr[1, size // 4 * (7
    if use_peepholes else 4)]) -> Hidden Cell
dynamic_lstmp=lstmp(input:Input, size>_, proj_size>_, param_attr, bias_attr,
    use_peepholes=True, is_reverse=False, gate_activation='sigmoid',
    cell_activation='tanh', candidate_activation='tanh', proj_activation='tanh',
    dtype='float32'>_, name, h_0:H0?, c_0:C0?, cell_clip=None, proj_clip=None;
    Weight<param_attr[proj_size, size]; ProjWeight<param_attr[size // 4,
    proj_size]; Bias<bias_attr[1, size // 4 * (7 if use_peepholes else 4)]) ->
    Projection Cell
elementwise_add elementwise_div elementwise_floordiv elementwise_max
    elementwise_min elementwise_mod elementwise_mul elementwise_pow
    elementwise_sub(x:X, y:Y, axis=-1, act, name)
elementwise_equal=equal(x:X, y:Y, name)
elu(x:X, alpha=1.0, name)
embedding=lookup_table(input:Ids, size>_, is_sparse=False, is_distributed=False,
    padding_idx=None>_, param_attr, dtype='float32'>_; W<param_attr[*size];
    padding_idx=-1 if padding_idx is None else padding_idx % size[0]) -> Out
equal greater_equal greater_than less_equal not_equal(x:X, y:Y, cond:Out!)
erf isfinite sign(x:X)
expand(x:X, expand_times|ExpandTimes|expand_times_tensor, name)
expand_as(x:X, target_tensor:target_tensor, name)
fill_constant(shape|ShapeTensor|ShapeTensorList, dtype, value|ValueTensor,
    force_cpu=False, out:Out!)
fill_constant_batch_size_like(input:Input, shape, dtype, value, input_dim_idx=0,
    output_dim_idx=0, force_cpu=False)
flatten=flatten2(x:X, axis=1, name)
flip(input:X, dims, name)
fsp_matrix=fsp(x:X, y:Y)
full=fill_constant(shape|ShapeTensor|ShapeTensorList,
    fill_value>value|ValueTensor, out:Out!, dtype=None, device=None>_,
    stop_gradient=True>_, name)
full_like=fill_any_like(input:X, fill_value>value, out:Out!, dtype=None,
    device=None>_, stop_gradient=True>_, name)
gather(input:X, index:Index, overwrite=True)
gather_nd(input:X, index:Index, name)
gather_tree(ids:Ids, parents:Parents)
gaussian_random(shape|ShapeTensor|ShapeTensorList, mean=0.0, std=1.0, seed=0,
    dtype='float32')
gaussian_random_batch_size_like(input:Input, shape, input_dim_idx=0,
    output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype='float32')
gelu(x:X, approximate=False)
grid_sampler(x:X, grid:Grid, name) -> Output
group_norm(input:X, groups, epsilon=1e-05, param_attr, bias_attr, act,
    data_layout='NCHW', name; Scale<param_attr or False[C]=Constant(1.0);
    Bias<bias_attr or False[C]) -> Y
gru_unit(input:Input, hidden:HiddenPrev, size>_, param_attr, bias_attr,
    activation='tanh'>_, gate_activation='sigmoid'>_, origin_mode=False;
    Weight<param_attr[size // 3, size]; Bias<bias_attr[1, size];
    activation=KINDS.index(activation);
    gate_activation=KINDS.index(gate_activation)) -> Hidden ResetHiddenPrev Gate
hard_shrink thresholded_relu(x:X, threshold=None)
hard_sigmoid(x:X, slope=0.2, offset=0.5, name)
hard_swish(x:X, threshold=6.0, scale=6.0, offset=3.0, name)
has_inf=isinf(x:X)
has_nan=isnan(x:X)
hsigmoid=hierarchical_sigmoid(input:X, label:Label, num_classes, param_attr,
    bias_attr, name, path_table:PathTable?, path_code:PathCode?,
    is_custom=False>_, is_sparse=False; W<param_attr[num_classes - (not
    is_custom), D]; Bias<bias_attr[num_classes - (not is_custom), 1])
huber_loss(input:X, label:Y, delta)
im2sequence(input:X, filter_size=1>kernels@2, stride=1>strides@2,
    padding=0>paddings@4, input_image_size:Y?, out_stride=1@2, name)
index_sample(x:X, index:Index)
index_select(input:X, index:Index, dim=0)
instance_norm(input:X, epsilon=1e-05, param_attr, bias_attr, name;
    Scale<param_attr[C]=Constant(1.0); Bias<bias_attr[C]) -> Y
is_empty(x:X, cond:Out!)
kldiv_loss(x:X, target:Target, reduction='mean', name) -> Loss
kron logical_and logical_or logical_xor(x:X, y:Y, out:Out!, name)
l2_normalize=norm(x:X, axis>_, epsilon=1e-12, name; axis=0 if len(x.shape) == 1
    else 1 if axis is None else axis)
label_smooth(label:X, prior_dist:PriorDist?, epsilon=0.1, dtype='float32'>_,
    name)
layer_norm(input:X, scale=True>_, shift=True>_, begin_norm_axis=1,
    epsilon=1e-05, param_attr, bias_attr, act, name; Scale<scale and
    param_attr[prod(input.shape[begin_norm_axis:])]=Constant(1.0); Bias<shift
    and bias_attr[prod(input.shape[begin_norm_axis:])]) -> Y
leaky_relu(x:X, alpha=0.02, name)
less_than(x:X, y:Y, force_cpu=None, cond:Out!)
linear_chain_crf(input:Emission, label:Label, param_attr, length:Length?;
    Transition<param_attr[D + 2, D]) -> LogLikelihood
linspace(start>_, stop>_, num>_, dtype; Start=tensor(start, dtype);
    Stop=tensor(stop, dtype); Num=tensor(num, 'int32'))
lod_reset(x:X, y:Y?, target_lod=None)
log1p logical_not(x:X, out:Out!, name)
log_loss(input:Predicted, label:Labels, epsilon=1e-4, name) -> Loss
log_softmax(input>_, axis=None>_, dtype=None>_, name; X=input if dtype is None
    else input.astype(dtype); axis=-1 if axis is None else axis)
logsumexp(x:X, dim=None>_, keepdim=False, out:Out!, name; axis=whole(dim or 0,
    1); reduce_all=dim in (None, []))
lrn(input:X, n=5, k=1.0, alpha=1e-4, beta=0.75, name, data_format='NCHW')
margin_rank_loss(label:Label, left:X1, right:X2, margin=0.1, name)
matmul(x:X, y:Y, transpose_x=False>transpose_X, transpose_y=False>transpose_Y,
    alpha=1.0, name)
maxout(x:X, groups, name, axis=1)
mean_iou(input:Predictions, label:Labels, num_classes) -> OutMeanIou OutWrong
    OutCorrect
meshgrid(input:X*, name) -> Out*len(input)
mish(x:X, threshold=20, name)
mul(x:X, y:Y, x_num_col_dims=1, y_num_col_dims=1, name)
multiplex(inputs:X*, index:Ids)
one_hot(input:X, depth|depth_tensor, allow_out_of_range=False)
ones=fill_constant(shape, dtype, force_cpu=False; value=1.0)
ones_like=fill_any_like(x:X, out:Out!; value=1.0)
pad(x:X, paddings, pad_value=0.0, name)
pad2d(input:X, paddings=[0,0,0,0]|Paddings, mode='constant', pad_value=0.0,
    data_format='NCHW', name)
pad_constant_like(x:X, y:Y, pad_value=0.0, name)
pixel_shuffle(x:X, upscale_factor)
pool{n}d(input:X, pool_size=-1>ksize@{n}, pool_type='max'>pooling_type,
    pool_stride=1>strides@{n}, pool_padding=0>_, global_pooling=False,
    use_cudnn=True, ceil_mode=False, name, exclusive=True, data_format='{form}';
    paddings=pads(pool_padding, {n}, data_format);
    padding_algorithm=algorithm(pool_padding))
pow(x:X, factor=1.0|FactorTensor, name)
prelu(x:X, mode, param_attr, name; Alpha<param_attr[*alphas(mode,
    x)]=Constant(0.25))
randint(low>_, high=None>_, shape=None|ShapeTensor|ShapeTensorList, out:Out!,
    dtype=None, device=None>_, stop_gradient=False>_, seed=0, name; shape=[1] if
    shape is None else None; low=0 if high is None else low; high=low if high is
    None else high)
randn=gaussian_random(shape, out:Out!, dtype=None, device=None>_,
    stop_gradient=True>_, name)
randperm(n, out:Out!, dtype='int64', device=None>_, stop_gradient=True>_,
    seed=0)
range(start>_, end>_, step>_, dtype>_; Start=tensor(start, dtype);
    End=tensor(end, dtype); Step=tensor(step, dtype))
rank_loss(label:Label, left:Left, right:Right, name)
reduce_all reduce_any reduce_max reduce_mean reduce_min reduce_prod
    reduce_sum(input:X, dim=None>_, keep_dim=False, name; dim=whole(dim or 0,
    1); reduce_all=dim in (None, []))
relu6(x:X, threshold=6.0, name)
reshape=reshape2(x:X, shape|Shape|ShapeTensor, actual_shape:Shape?, act,
    inplace=False>_, name)
reverse(x:X, axis@1)
row_conv(input:X, future_context_size>_, param_attr, act;
    Filter<param_attr[future_context_size + 1, D])
sampling_id(x:X, min=0.0, max=1.0, seed=0, dtype='float32'>_)
scale(x:X, scale=1.0|ScaleTensor, bias=0.0, bias_after_scale=True, act, name)
scatter(input:X, index:Ids, updates:Updates, name, overwrite=True)
scatter_nd_add(ref:X, index:Index, updates:Updates, name)
selu(x:X, scale=None, alpha=None, name)
sequence_concat(input:X*, name)
sequence_conv(input:X, num_filters>_, filter_size=3>contextLength,
    filter_stride=1>contextStride, padding=True>_, padding_start=None>_,
    bias_attr, param_attr, act, name; Filter<param_attr[filter_size * D,
    num_filters]; contextStart=-(filter_size // 2) if padding_start is None else
    padding_start; +num_filters@1)
sequence_enumerate(input:X, win_size, pad_value=0, name)
sequence_expand(x:X, y:Y, ref_level=-1, name)
sequence_mask(x:X, maxlen=None|MaxLenTensor, dtype='int64'>out_dtype, name) -> Y
sequence_pad(x:X, pad_value:PadValue, maxlen=None>padded_length, name) -> Out
    Length
sequence_pool(input:X, pool_type>_, is_test=False, pad_value=0.0;
    pooltype=pool_type.upper())
sequence_reshape(input:X, new_dim)
sequence_reverse(x:X, name) -> Y
sequence_scatter(input:X, index:Ids, updates:Updates, name)
sequence_slice(input:X, offset:Offset, length:Length, name)
sequence_softmax(input:X, use_cudnn=False, name)
sequence_unpad(x:X, length:Length, name)
shape size(input:Input)
shard_index(input:X, index_num, nshards, shard_id, ignore_value=-1)
shuffle_channel(x:X, group, name)
sigmoid_cross_entropy_with_logits(x:X, label:Label, ignore_index=-100, name,
    normalize=False)
sigmoid_focal_loss(x:X, label:Label, fg_num:FgNum, gamma=2.0, alpha=0.25)
slice(input:Input, axes, starts|StartsTensor|StartsTensorList,
    ends|EndsTensor|EndsTensorList)
smooth_l1=smooth_l1_loss(x:X, y:Y, inside_weight:InsideWeight?,
    outside_weight:OutsideWeight?, sigma=None)
soft_relu(x:X, threshold=40.0, name)
softmax(input:X, use_cudnn=False, name, axis=-1)
softshrink(x:X, alpha=None>lambda)
space_to_depth(x:X, blocksize, name)
spectral_norm(weight:Weight, dim=0, power_iters=1, eps=1e-12, name;
    U<fixed[weight.shape[dim]]=Normal(0.0, 1.0); V<fixed[prod(weight.shape) //
    weight.shape[dim]]=Normal(0.0, 1.0))
squeeze=squeeze2(input:X, axes, name)
stack(x:X*, axis=0) -> Y
stanh(x:X, scale_a=0.67, scale_b=1.7159, name)
strided_slice(input:Input, axes, starts|StartsTensor|StartsTensorList,
    ends|EndsTensor|EndsTensorList, strides|StridesTensor|StridesTensorList)
sum(x:X*)
sums=sum(input:X*, out:Out!)
swish(x:X, beta=1.0, name)
teacher_student_sigmoid_loss(input:X, label:Label, soft_max_up_bound=15.0,
    soft_max_lower_bound=-15.0) -> Y
temporal_shift(x:X, seg_num, shift_ratio=0.25, name)
tensor_array_to_tensor(input:X, axis=1, name, use_stack=False) -> Out OutIndex
topk=top_k(input:X, k|K, name) -> Out Indices
trace(input:Input, offset=0, dim1=0, dim2=1, out:Out!, name)
transpose=transpose2(x:X, perm>axis, name)
tril=tril_triu(input:X, diagonal=0, name; lower=True)
triu=tril_triu(input:X, diagonal=0, name; lower=False)
unfold(x:X, kernel_sizes@2, strides=1@2, paddings=0@4, dilations=1@2, name) -> Y
uniform_random(shape|ShapeTensor|ShapeTensorList, dtype='float32', min=-1.0,
    max=1.0, seed=0)
uniform_random_batch_size_like(input:Input, shape, dtype='float32',
    input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0)
unique(x:X, dtype='int32') -> Out Index
unique_with_counts(x:X, dtype='int32') -> Out Index Count
unsqueeze=unsqueeze2(input:X, axes, name)
unstack(x:X, axis=0, num=None; num=num or x.shape[axis]) -> Y*num
warpctc(input:Logits, label:Label, blank=0, norm_by_times=False,
    input_length:LogitsLength?, label_length:LabelLength?) -> Loss
where=where_index(condition:Condition)
zeros=fill_constant(shape, dtype, force_cpu=False; value=0.0)
zeros_like=fill_zeros_like(x:X, out:Out!)
"""

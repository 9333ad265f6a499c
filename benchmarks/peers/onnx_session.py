"""Small ONNX models, and sessions of ONNX Runtime, which is a peer."""

from onnx import TensorProto, helper, numpy_helper

node = helper.make_node


def floats(*shape):
    """What an input or output of float32 is; see model_of."""
    return TensorProto.FLOAT, shape


def model_of(nodes, inputs, outputs, constants=None, opset=17):
    """A model; `inputs` and `outputs` have (dtype, shape) by name, `constants`
    arrays."""
    infos = [[helper.make_tensor_value_info(name, *form)
              for name, form in each.items()] for each in (inputs, outputs)]
    graph = helper.make_graph(
        nodes, "model", *infos,
        [numpy_helper.from_array(value, name)
         for name, value in (constants or {}).items()])
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", opset)])


def session_of(model, threads=1, optimize=True):
    """A session with so many threads, which changes nodes if `optimize`."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    if not optimize:
        settings.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings,
        providers=["CPUExecutionProvider"])

"""Where clients of onnxruntime import its errors from."""

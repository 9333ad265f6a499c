"""The package from which clients of onnxruntime import its errors."""

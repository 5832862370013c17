// Buffer: tensors as the one stretch of memory that a call works on. Tensors that lie so already
// are used where they are; others are copied, and outputs copied back when the call is done.
#pragma once

#include "plugins/torch/c10d.h"

namespace heddle::pytorch {

class Buffer {
 public:
  Buffer() = default;
  // All of one type; one after the other, each in the order of its indices.
  static Buffer of_input(Tensors tensors);
  static Buffer of_output(Tensors tensors);
  static Buffer of_both(Tensors tensors);

  void* data() const { return data_; }
  uint64_t elements() const { return elements_; }
  at::ScalarType type() const { return type_; }
  // Whether copy_back() has something to do.
  bool must_copy_back() const { return output_ && staged_.defined(); }
  void copy_back();

 private:
  Buffer(Tensors tensors, bool input, bool output);
  bool lies_as_one() const;
  void copy_in();

  Tensors tensors_;
  at::Tensor staged_;  // undefined: the tensors' own memory is used
  void* data_ = nullptr;
  uint64_t elements_ = 0;
  at::ScalarType type_ = at::kByte;
  bool output_ = false;
};

}  // namespace heddle::pytorch

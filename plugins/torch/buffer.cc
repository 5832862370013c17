// Buffer: see buffer.h.
#include "plugins/torch/buffer.h"

#include <ATen/core/grad_mode.h>

#include <utility>

namespace heddle::pytorch {

Buffer Buffer::of_input(Tensors tensors) { return {std::move(tensors), true, false}; }
Buffer Buffer::of_output(Tensors tensors) { return {std::move(tensors), false, true}; }
Buffer Buffer::of_both(Tensors tensors) { return {std::move(tensors), true, true}; }

Buffer::Buffer(Tensors tensors, bool input, bool output)
    : tensors_(std::move(tensors)), output_(output) {
  if (tensors_.empty()) return;
  type_ = tensors_[0].scalar_type();
  for (const at::Tensor& tensor : tensors_) elements_ += static_cast<uint64_t>(tensor.numel());
  if (lies_as_one()) {
    data_ = tensors_[0].data_ptr();
    return;
  }
  const at::NoGradGuard no_grad;
  staged_ = at::empty({static_cast<int64_t>(elements_)}, at::device(at::kCPU).dtype(type_));
  data_ = staged_.data_ptr();
  if (input) copy_in();
}

bool Buffer::lies_as_one() const {
  const auto* next = static_cast<const char*>(tensors_[0].data_ptr());
  for (const at::Tensor& tensor : tensors_) {
    if (!tensor.is_contiguous() || tensor.is_conj() || tensor.is_neg()) return false;
    if (tensor.numel() > 0 && tensor.data_ptr() != next) return false;
    next += tensor.nbytes();
  }
  return true;
}

void Buffer::copy_in() {
  int64_t at = 0;
  for (const at::Tensor& tensor : tensors_) {
    staged_.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    at += tensor.numel();
  }
}

void Buffer::copy_back() {
  const at::NoGradGuard no_grad;
  int64_t at = 0;
  for (at::Tensor& tensor : tensors_) {
    tensor.copy_(staged_.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

}  // namespace heddle::pytorch

// fmt as a part of this library, from its headers: a preloaded library must not need a shared one
// that the program's machine may lack.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template char decimal_point_impl<char>(locale_ref);

}  // namespace fmt::detail

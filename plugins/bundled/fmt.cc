// fmt inside what is linked with it, which so loads where fmt is not installed: its
// implementation, and the templates that the library has compiled.
#undef FMT_SHARED
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float);
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double);
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
template void buffer<char>::append(const char*, const char*);
template std::locale locale_ref::get<std::locale>() const;
}  // namespace detail
FMT_END_NAMESPACE

#include "weft/kernel.hpp"

#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "weft/detail/on_kernel.hpp"

namespace weft {

Kernel::Kernel(std::string name, std::string source, const char* file, std::uint32_t line) {
  if (name.empty()) throw std::invalid_argument("weft kernel: it has no name");
  code_.name = std::move(name);
  code_.source = std::move(source);
  code_.file = file;
  code_.line = line;
}

Kernel& Kernel::group(std::uint32_t items) {
  code_.group = items;
  return *this;
}

Kernel& Kernel::batch(std::uint32_t records) {
  code_.records = records;
  return *this;
}

Kernel& Kernel::limit(Duration longest) {
  if (longest <= Duration(0)) throw std::invalid_argument("weft kernel: its limit must be longer than 0");
  code_.limit = longest;
  return *this;
}

Kernel& Kernel::with_bytes(const void* bytes, std::size_t size, bool buffer) {
  code_.values.push_back({std::string(static_cast<const char*>(bytes), size), buffer});
  return *this;
}

namespace detail {

std::shared_ptr<const runtime::KernelCode> code_of(const Kernel& kernel, std::size_t in_bytes, std::size_t out_bytes) {
  runtime::KernelCode code = kernel.code();
  code.in_bytes = in_bytes;
  code.out_bytes = out_bytes;
  return std::make_shared<const runtime::KernelCode>(std::move(code));
}

void refuse_kernel(const runtime::KernelCode& code, std::uint32_t record) {
  throw std::runtime_error("the kernel '" + code.name + "' (" + code.file + ":" + std::to_string(code.line) +
                           ") gives another record than the operator's function for record " + std::to_string(record) +
                           " of a batch");
}

}  // namespace detail
}  // namespace weft

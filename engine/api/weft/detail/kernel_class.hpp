// A kernel, and what a job says of it. Programs include <weft/kernel.hpp>.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/devices/kernel_code.hpp"

namespace weft {

namespace detail {

/// The line that the compiler names for an object made of a literal that ends on the next one.
struct LineOfObject {
  constexpr explicit LineOfObject(const char*, std::source_location where = std::source_location::current()) : line(where.line()) {}
  unsigned line;
};
// clang-format off
inline constexpr unsigned kObjectBegins = __LINE__ + 1;
inline constexpr bool kLocationsAreEnds = LineOfObject(R"(
)").line != kObjectBegins;
// clang-format on
/// Where the source begins that an object made at `where` was given as a literal: compilers differ in which line they name.
inline unsigned source_line(const std::string& source, const std::source_location& where) {
  unsigned lines = 0;
  if (kLocationsAreEnds)
    for (const char c : source) lines += c == '\n' ? 1 : 0;
  return where.line() - (lines < where.line() ? lines : 0);
}

}  // namespace detail

/// The source in OpenCL C, and the name of the kernel in it. It computes a batch of records:
///
///   kernel void NAME(global const IN* in, global OUT* out, uint records, …)                             records of fixed size
///   kernel void NAME(global const uchar* in, global const uint* starts, global uchar* out, uint records, …)    texts
///
/// Record i is in[i], its result out[i], or, of texts, in[starts[i]] to in[starts[i + 1]] and the same places of `out`. Each record
/// is a work item, of which there may be more than records: return where get_global_id(0) >= records. With group(n) each record is
/// a work group of n items, get_group_id(0) its number, and there are no more. Types as the host has them: std::uint64_t is ulong.
class Kernel {
 public:
  using Where = std::source_location;
  Kernel(std::string name, std::string source, Where where = Where::current())
      : Kernel(std::move(name), std::move(source), where.file_name(), 0) {
    code_.line = detail::source_line(code_.source, where);
  }

  /// Work items of each record; 0, the default: one.
  Kernel& group(std::uint32_t items);
  /// The most records of a batch; 0, the default: as many as 4 MiB hold. Fewer where each takes long.
  Kernel& batch(std::uint32_t records);
  /// How long a batch may take (a minute). Then the executor is ended, which resets the device, and the function takes over.
  Kernel& limit(Duration longest);
  /// A further argument, after the others: a copy of a value.
  template <class T>
  requires std::is_trivially_copyable_v<T> Kernel& with(const T& value) { return with_bytes(&value, sizeof value, false); }
  /// The same of several values: `global const T*`.
  template <class T>
  requires std::is_trivially_copyable_v<T> Kernel& with(const std::vector<T>& values) {
    return with_bytes(values.data(), values.size() * sizeof(T), true);
  }

  const std::string& name() const { return code_.name; }
  const runtime::KernelCode& code() const { return code_; }

 private:
  Kernel(std::string name, std::string source, const char* file, std::uint32_t line);
  Kernel& with_bytes(const void* bytes, std::size_t size, bool buffer);

  runtime::KernelCode code_;
};

}  // namespace weft

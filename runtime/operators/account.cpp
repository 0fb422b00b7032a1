#include "runtime/operators/account.hpp"

#include <fmt/core.h>

#include "base/assert.hpp"

namespace weft::runtime {

Account::Account(OperatorContext& context, const char* operator_name) : context_(context), name_(operator_name) {
  WEFT_ASSERT(context.memory != nullptr);
  promised_ = context.memory->limit() / 16;
  limit_ = std::max(context.memory->free() / 2, promised_);
}

bool Account::try_take(std::uint64_t bytes) {
  if (bytes > limit_ - std::min(used_, limit_)) return false;
  if (!context_.memory->try_take(bytes)) {
    if (used_ + bytes > promised_) return false;
    overdraft_ += bytes;
  }
  used_ += bytes;
  return true;
}

void Account::give_back(std::uint64_t bytes) {
  WEFT_ASSERT(bytes <= used_);
  used_ -= bytes;
  const std::uint64_t drawn = std::min(bytes, overdraft_);
  overdraft_ -= drawn;
  context_.memory->give_back(bytes - drawn);
}

void Account::exhausted(std::uint64_t bytes) const {
  throw TaskError{
      Error(Code::resource_exhausted,
            fmt::format("{}: a single record or key with its value needs {} bytes, more than the {} bytes this operator may "
                        "use of the task's memory budget of {} bytes; give tasks more memory or make the records smaller",
                        name_, bytes, limit_, context_.memory->limit()))};
}

void Account::contradiction() const {
  throw TaskError{Error(
      Code::invalid_argument,
      fmt::format(
          "{}: the comparison is no strict weak order (less(a, a) must be false, and of less(a, b) and less(b, a) at most one "
          "may hold); this operator may use {} of the task's {} bytes of memory",
          name_, limit_, context_.memory->limit()))};
}

}  // namespace weft::runtime

#include "base/rpc/responder.hpp"

#include "base/assert.hpp"

namespace weft::rpc {

Responder::Responder(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Responder::Responder(Responder&&) noexcept = default;
Responder& Responder::operator=(Responder&& other) noexcept {
  Responder replaced(std::exchange(impl_, std::move(other.impl_)));
  return *this;
}
Responder::~Responder() {
  if (impl_ != nullptr) fail(Error(Code::internal, "the request was dropped without an answer"));
}
void Responder::reply(Payload payload) {
  WEFT_ASSERT(impl_ != nullptr);
  std::exchange(impl_, nullptr)->answer(std::move(payload));
}
void Responder::fail(const Error& error) {
  WEFT_ASSERT(impl_ != nullptr);
  std::exchange(impl_, nullptr)->answer(error);
}

}  // namespace weft::rpc

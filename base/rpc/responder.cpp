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
  // Whoever asks again asks one that takes requests: what held this one has ended, such as a master that leads no more.
  if (impl_ != nullptr) fail(Error(Code::unavailable, "the other side ended before it answered"));
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

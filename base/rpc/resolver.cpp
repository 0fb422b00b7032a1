#include "base/rpc/resolver.hpp"

#include <system_error>
#include <thread>

#include <fmt/core.h>

namespace weft::rpc {

struct Resolver::Pending {
  std::map<Name, std::vector<Done>> names;
};

Resolver::Resolver(Post post, LookUp look_up)
    : post_(std::move(post)), look_up_(std::move(look_up)), pending_(std::make_shared<Pending>()) {}

Resolver::~Resolver() = default;  // threads go on until their look-up ends; what they post finds nobody

void Resolver::resolve(const std::string& host, const std::string& port, Done done) {
  const Name name(host, port);
  if (const auto waiting = pending_->names.find(name); waiting != pending_->names.end()) {
    waiting->second.push_back(std::move(done));
    return;
  }
  if (auto started = start(name); !started) {
    post_([done = std::move(done), error = std::move(started).error()]() mutable { done(fail(std::move(error))); });
    return;
  }
  pending_->names[name].push_back(std::move(done));
}

Result<void> Resolver::start(const Name& name) {
  if (pending_->names.size() >= kMostNames) {
    return fail(Code::unavailable,
                fmt::format("cannot resolve host '{}': {} other names are being looked up and no name server answers", name.first,
                            kMostNames));
  }
  try {
    std::thread([name, look_up = look_up_, post = post_, waiting = std::weak_ptr(pending_)] {
      Addresses found = look_up(name.first, name.second);
      post([name, waiting, found = std::move(found)] {
        const auto pending = waiting.lock();
        if (pending == nullptr) return;
        const auto node = pending->names.extract(name);
        for (const Done& done : node.mapped()) done(found);
      });
    }).detach();
  } catch (const std::system_error& error) {
    return fail(Code::unavailable,
                fmt::format("cannot resolve host '{}': no thread for it: {}", name.first, error.code().message()));
  }
  return {};
}

}  // namespace weft::rpc

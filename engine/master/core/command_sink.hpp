// Where the parts of the core put their commands: the list that the caller of Core::apply() gave for the event being applied.
#pragma once

#include <utility>
#include <vector>

#include "engine/master/core/events.hpp"

namespace weft::master {

class CommandSink {
 public:
  /// Commands go to the end of `commands` until close(). The list is the caller's and must outlive that.
  void open(std::vector<Command>& commands) { commands_ = &commands; }
  void close() { commands_ = nullptr; }

  /// The sink must be open.
  template <class C>
  void emit(C command) {
    commands_->emplace_back(std::in_place_type<C>, std::move(command));
  }

 private:
  std::vector<Command>* commands_ = nullptr;
};

}  // namespace weft::master

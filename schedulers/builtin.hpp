// The schedulers of weft. Only builtin.cpp lists them.
#pragma once

#include <memory>
#include <string_view>

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<void> register_builtin_schedulers(Registry& registry);
/// A scheduler from the built-in ones; `text` and `reader` as for Registry::make.
Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view text, const FileReader& reader = {});

}  // namespace weft::schedulers

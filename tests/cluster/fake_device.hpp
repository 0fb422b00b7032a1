// A device whose driver fails as a test says (tests/support/fake_opencl.cpp).
#pragma once

#include <map>
#include <string>

#include <unistd.h>

namespace weft::test {

/// The environment of a process that finds it. A device of another name is another one.
inline std::map<std::string, std::string> fake_device(const std::string& name, std::map<std::string, std::string> settings = {}) {
  settings["LD_LIBRARY_PATH"] = WEFT_FAKE_OPENCL_DIR;
  settings["FAKE_OPENCL_NAME"] = name + std::to_string(getpid());
  return settings;
}

}  // namespace weft::test

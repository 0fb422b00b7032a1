// Part of every GoogleTest program that runs processes: one that ends unexpectedly fails the test that runs.
#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

[[maybe_unused]] const bool installed = (set_death_handler([](const std::string& what) { ADD_FAILURE() << what; }), true);

}  // namespace
}  // namespace weft::test

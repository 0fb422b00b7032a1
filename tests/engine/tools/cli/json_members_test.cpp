// JSON as lists of members.
#include "engine/tools/display/json_members.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::tools {
namespace {

TEST(JsonMembers, HaveTheFormOfTheirValues) {
  const std::optional<double> none, half = 0.5;
  const std::map<std::string, int> counts{{"a", 1}, {"b", 2}};
  const std::vector<std::vector<int>> rows{{1, 2}, {}};
  EXPECT_EQ(json_line(object("text", "x", "number", 7u, "flag", true, "none", none, "half", half)),
            "{\"text\":\"x\",\"number\":7,\"flag\":true,\"none\":null,\"half\":0.5}\n");
  EXPECT_EQ(json_line(object("counts", counts, "rows", rows)), "{\"counts\":{\"a\":1,\"b\":2},\"rows\":[[1,2],[]]}\n");
}

TEST(JsonMembers, OfARangeOfPairsKeepTheirOrder) {
  const std::vector<std::pair<std::string, double>> numbers{{"z", 1}, {"a", 2}};
  EXPECT_EQ(json_line(numbers), "{\"z\":1,\"a\":2}\n");
}

TEST(JsonMembers, ObjectsAreWrittenOneByOne) {
  const std::vector<std::string> names{"a", "b"};
  const auto write = [](JsonWriter& json, const std::string& name) {
    if (name == "a") members(json, "first", true);
    members(json, "name", name);
  };
  EXPECT_EQ(json_line(objects(names, write)), "[{\"first\":true,\"name\":\"a\"},{\"name\":\"b\"}]\n");
  EXPECT_EQ(json_line(object("all", objects(names, write), "inner", object("empty", object()))),
            "{\"all\":[{\"first\":true,\"name\":\"a\"},{\"name\":\"b\"}],\"inner\":{\"empty\":{}}}\n");
}

TEST(JsonMembers, OfResourcesAreAllKinds) {
  const std::string json = json_line(object("used", schedulers::Resources{.cpu = 2}));
  EXPECT_EQ(json.find("{\"used\":{\"cpu\":2,\"memory\":0,"), 0u) << json;
}

}  // namespace
}  // namespace weft::tools

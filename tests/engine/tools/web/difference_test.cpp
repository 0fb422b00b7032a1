// What of a list has become different.
#include "engine/tools/web/difference.hpp"

#include <gtest/gtest.h>

namespace weft::web {
namespace {

using Text = std::optional<std::string>;

TEST(Difference, HasTheMembersThatAreDifferent) {
  EXPECT_EQ(difference(R"([{"id":1,"state":"running","name":"a"},{"id":2,"state":"running","name":"b"}])",
                       R"([{"id":1,"state":"running","name":"a"},{"id":2,"state":"finished","name":"b"}])"),
            Text(R"({"new":[],"changed":[{"id":2,"state":"finished"}],"gone":[]})"));
}

TEST(Difference, HasWhatIsNewAndWhatIsGone) {
  EXPECT_EQ(difference("[{\"id\":1},{\"id\":2}]\n", "[{\"id\":2},{\"id\":3,\"a\":[1,{\"b\":2}]}]\n"),
            Text(R"({"new":[{"id":3,"a":[1,{"b":2}]}],"changed":[],"gone":[1]})"));
  EXPECT_EQ(difference("[]", R"([{"name":"p"}])"), Text(R"({"new":[{"name":"p"}],"changed":[],"gone":[]})"));
}

TEST(Difference, AnObjectWithOtherMembersComesWhole) {
  EXPECT_EQ(difference(R"([{"id":1,"state":"ready"}])", R"([{"id":1,"state":"dead","cause":"x"}])"),
            Text(R"({"new":[{"id":1,"state":"dead","cause":"x"}],"changed":[],"gone":[]})"));
}

TEST(Difference, TimeThatGoesOnIsNone) {
  EXPECT_EQ(difference(R"([{"id":1,"seconds":1,"submitted_seconds_ago":2,"a":1}])",
                       R"([{"id":1,"seconds":2,"submitted_seconds_ago":3,"a":1}])"),
            Text(""));
  EXPECT_EQ(difference(R"([{"id":1,"seconds":1,"a":1}])", R"([{"id":1,"seconds":2,"a":2}])"),
            Text(R"({"new":[],"changed":[{"id":1,"seconds":2,"a":2}],"gone":[]})"));
}

TEST(Difference, BracketsAndCommasInTextsAreText) {
  EXPECT_EQ(difference(R"([{"id":"a,]}\"{","x":1},{"id":"b","x":"]}"}])", R"([{"id":"a,]}\"{","x":2},{"id":"b","x":"]}"}])"),
            Text(R"({"new":[],"changed":[{"id":"a,]}\"{","x":2}],"gone":[]})"));
}

TEST(Difference, OfWhatIsNoSuchListNothingIsTold) {
  EXPECT_EQ(difference("{}", "{}"), Text());
  EXPECT_EQ(difference("[1]", "[2]"), Text());
  EXPECT_EQ(difference(R"([{"id":1},{"id":1}])", R"([{"id":1}])"), Text());
  for (const char* broken :
       {"", "[", "[{", "[{\"", "[{\"a", "[{\"a\"", "[{\"a\":", "[{\"a\":\"\\]", "[{}]", "[{\"a\":1,]", "[,]", "[{\"a\"]"})
    EXPECT_EQ(difference(broken, "[1]"), Text()) << broken;
}

}  // namespace
}  // namespace weft::web

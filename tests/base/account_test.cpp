#include "base/account.hpp"

#include <grp.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

Account someone() { return {"jobs", 61700, 61700, {61700}, "/"}; }

TEST(Administrator, IsWhoeverHasTheRightsOfRoot) {
  ASSERT_TRUE(find_account("root"));
  const auto root = check_no_administrator(*find_account("root"));
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().to_string(), "the user root has the rights of root");
  Account other_name = someone();
  other_name.user = 0;
  EXPECT_FALSE(check_no_administrator(other_name)) << "the number counts, not the name";
}

TEST(Administrator, IsWhoeverIsInAGroupOfThem) {
  Account of_root = someone();
  of_root.groups.push_back(0);
  EXPECT_FALSE(check_no_administrator(of_root));
  for (const char* const name : {"sudo", "docker", "disk", "shadow"}) {
    const group* const found = ::getgrnam(name);
    if (found == nullptr) continue;  // not on this machine
    Account member = someone();
    member.groups.push_back(found->gr_gid);
    const auto refused = check_no_administrator(member);
    ASSERT_FALSE(refused) << name;
    EXPECT_NE(refused.error().to_string().find(name), std::string::npos) << refused.error().to_string();
    Account first = someone();
    first.group = found->gr_gid;
    EXPECT_FALSE(check_no_administrator(first)) << name;
  }
}

TEST(Administrator, IsNobodyElse) {
  EXPECT_TRUE(check_no_administrator(someone()));
  ASSERT_TRUE(find_account("nobody"));
  EXPECT_TRUE(check_no_administrator(*find_account("nobody")));
}

}  // namespace
}  // namespace weft

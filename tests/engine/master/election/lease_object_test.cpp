#include "engine/master/election/lease_object.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

// As kubectl get lease -o json prints it (Kubernetes 1.31), with members of others.
constexpr const char* kLease = R"({
  "apiVersion": "coordination.k8s.io/v1",
  "kind": "Lease",
  "metadata": {
    "annotations": {"kubectl.kubernetes.io/note": "kept", "weft/leader-record": "{}"},
    "creationTimestamp": "2026-11-24T23:19:21Z",
    "labels": {"app": "weft"},
    "managedFields": [{"fieldsV1": {"f:spec": {"f:renewTime": {}}}, "manager": "kube", "flag": true, "none": null, "n": -3, "x": 0.5}],
    "name": "weft-master", "namespace": "weft", "resourceVersion": "12345", "uid": "6b1c"
  },
  "spec": {
    "acquireTime": "2026-11-24T23:19:21.000001Z", "holderIdentity": "m_1", "leaseDurationSeconds": 15, "leaseTransitions": 2,
    "renewTime": "2026-11-24T23:20:21.123456Z", "strategy": "OldestEmulationVersion"
  }
})";

TEST(LeaseObjectTest, IsReadAsKubernetesWritesIt) {
  const auto lease = parse_lease(kLease);
  ASSERT_TRUE(lease) << lease.error().to_string();
  EXPECT_EQ(lease->version, "12345");
  EXPECT_EQ(lease->fields.holder, "m_1");
  EXPECT_EQ(lease->fields.seconds, 15);
  EXPECT_EQ(lease->fields.transitions, 2);
  EXPECT_EQ(lease->fields.acquired, "2026-11-24T23:19:21.000001Z");
  EXPECT_EQ(lease->fields.renewed, "2026-11-24T23:20:21.123456Z");
  EXPECT_EQ(lease->fields.record, "{}");
}

TEST(LeaseObjectTest, MembersThatAreNullOrMissingAreEmpty) {
  for (const char* const text :
       {R"({"kind":"Lease","metadata":{"resourceVersion":"1"}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1","annotations":null},"spec":null})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"holderIdentity":null,"leaseDurationSeconds":null}})"}) {
    const auto lease = parse_lease(text);
    ASSERT_TRUE(lease) << lease.error().to_string();
    EXPECT_TRUE(lease->fields.holder.empty());
    EXPECT_EQ(lease->fields.seconds, 0);
    EXPECT_FALSE(lease->fields.record);
    const auto changed = changed_lease(*lease, {.holder = "m", .seconds = 3, .acquired = "a", .renewed = "r", .record = "R"});
    ASSERT_TRUE(changed);
    const auto again = parse_lease(*changed);
    ASSERT_TRUE(again) << *changed;
    EXPECT_EQ(again->fields.holder, "m");
    EXPECT_EQ(again->fields.record, "R");
  }
}

TEST(LeaseObjectTest, WhatIsNoLeaseIsRefused) {
  for (const char* const text :
       {"", "x", "[]", "{}", R"({"kind":"Lease","metadata":{}})", R"({"kind":"Status","metadata":{"resourceVersion":"1"}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":1}})",
        R"({"kind":"Lease","metadata":{"resourceVersion":"1"},"spec":{"leaseDurationSeconds":-1}})"})
    EXPECT_FALSE(parse_lease(text)) << text;
}

TEST(LeaseObjectTest, AChangeKeepsWhatIsNotOurs) {
  const auto lease = parse_lease(kLease);
  ASSERT_TRUE(lease);
  const auto changed = changed_lease(
      *lease, {.holder = "m_2", .seconds = 3, .transitions = 3, .acquired = "A", .renewed = "B", .record = R"({"epoch":1})"});
  ASSERT_TRUE(changed) << changed.error().to_string();
  EXPECT_EQ(
      *changed,
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"annotations":{"kubectl.kubernetes.io/note":"kept",)"
      R"("weft/leader-record":"{\"epoch\":1}"},"creationTimestamp":"2026-11-24T23:19:21Z","labels":{"app":"weft"},)"
      R"("managedFields":[{"fieldsV1":{"f:spec":{"f:renewTime":{}}},"manager":"kube","flag":true,"none":null,"n":-3,"x":0.5}],)"
      R"("name":"weft-master","namespace":"weft","resourceVersion":"12345","uid":"6b1c"},"spec":{"strategy":"OldestEmulationVersion",)"
      R"("holderIdentity":"m_2","leaseDurationSeconds":3,"leaseTransitions":3,"renewTime":"B","acquireTime":"A"}})");
}

TEST(LeaseObjectTest, ANewOneHasItsNameAndWhatIsPutInto) {
  const auto text =
      changed_lease(new_lease("ns", "n"), {.holder = "m", .seconds = 3, .acquired = "A", .renewed = "B", .record = "R"});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"n","namespace":"ns",)"
                   R"("annotations":{"weft/leader-record":"R"}},"spec":{"holderIdentity":"m","leaseDurationSeconds":3,)"
                   R"("leaseTransitions":0,"renewTime":"B","acquireTime":"A"}})");
}

TEST(LeaseObjectTest, TimesHaveMicroseconds) {
  const std::string time = lease_time_now();
  ASSERT_EQ(time.size(), 27u) << time;
  EXPECT_EQ(time[10], 'T');
  EXPECT_EQ(time[19], '.');
  EXPECT_EQ(time[26], 'Z');
  EXPECT_GE(time, "2024");
}

}  // namespace
}  // namespace weft::master

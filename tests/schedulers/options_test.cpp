#include "schedulers/config/options.hpp"

#include "schedulers/builtin.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

Options parsed(std::string_view list) { return Options::parse(list, {}).value(); }

TEST(Options, HaveUnitsListsAndNestedSchedulers) {
  Options options = parsed("wait=5s, size=64MiB, n=7, f=-0.5, on=yes, list=[a, b(c,d)], inner=fair(pools=p.toml, x=[1,2]), w=x");
  EXPECT_EQ(options.duration("wait", Time(0)).value(), std::chrono::seconds(5));
  EXPECT_EQ(options.size("size", 0).value(), 64u << 20);
  EXPECT_EQ(options.whole("n", 0).value(), 7u);
  EXPECT_EQ(options.number("f", 0).value(), -0.5);
  EXPECT_TRUE(options.flag("on", false).value());
  EXPECT_EQ(options.list("list").value(), (std::vector<std::string>{"a", "b(c,d)"}));
  EXPECT_EQ(options.text("inner", "").value(), "fair(pools=p.toml, x=[1,2])");
  EXPECT_EQ(options.done().error().message(), "unknown scheduler option 'w' (known: wait, size, n, f, on, list, inner)");
}

TEST(Options, BadValuesNameOptionAndValue) {
  auto message = [](auto result) { return result.error().to_string(); };
  EXPECT_EQ(message(parsed("w=soon").duration("w", Time(0))),
            "scheduler option w=soon is not a duration (write for example 250ms, 5s, 2min)");
  EXPECT_EQ(message(parsed("w=-1").whole("w", 0)), "scheduler option w=-1 is not a whole number");
  EXPECT_EQ(message(parsed("w=2").number("w", 0, 0, 1)), "scheduler option w=2 is not between 0 and 1");
  EXPECT_EQ(message(parsed("w=nan").number("w", 0, 0, 1)), "scheduler option w=nan is not between 0 and 1");
  EXPECT_EQ(message(parsed("w=maybe").flag("w", false)), "scheduler option w=maybe is neither true nor false");
  EXPECT_EQ(message(parsed("w=a").list("w")), "scheduler option w=a is not a list (write [a, b])");
  EXPECT_EQ(message(parsed("w=p.toml").file("w")),
            "scheduler option w=p.toml is the name of a file, and nothing here can read files");
  constexpr std::array<std::string_view, 2> kKnown{"x", "y"};
  EXPECT_EQ(message(parsed("w=z").choice("w", kKnown, "x")), "scheduler option w=z is not one of x, y");
  EXPECT_EQ(parsed("w=y").choice("w", kKnown, "x").value(), 1u);
}

TEST(Options, MalformedTextIsRefused) {
  for (const char* text : {"a", "a=1,a=2", "=1", "a b=1", "a=(1", "a=1)", "a=[1", "a=([)]", "A=1"}) {
    EXPECT_FALSE(Options::parse(text, {})) << text;
  }
  for (const char* text :
       {"", "fifo(", "fifo)", "fifo()x", "cpm(inner=cpm(inner=nothing))", "cpm(inner=tetris)", "cogrs(inner=cogrs)"}) {
    EXPECT_FALSE(make_scheduler(text)) << text;
  }
  EXPECT_EQ(make_scheduler("cpm(inner=bfs(inner=drf(form=round)))").error().to_string(),
            "scheduler 'cpm': scheduler 'bfs': scheduler 'drf': scheduler option form=round is not one of progressive, closed");
  EXPECT_FALSE(make_scheduler("fifo(" + std::string(10'000, '(') + ")"));
}

TEST(Options, FilesAreReadThroughTheResolverOnly) {
  const FileReader reader = reader_of({{"p.toml", "text"}});
  Options options = Options::parse("pools=p.toml, queues=q.toml", reader).value();
  EXPECT_EQ(options.file("pools").value()->text, "text");
  EXPECT_EQ(options.file("queues").error().to_string(), "scheduler option queues=q.toml: the text of q.toml was not recorded");
  EXPECT_FALSE(options.file("absent").value());
}

}  // namespace
}  // namespace weft::schedulers

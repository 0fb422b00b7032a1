// What a person reads who used `weft` or a job program wrongly: one line that names what is wrong and what to do.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct WrongUse {
  std::string line;               // words of a shell without quotes; @ stands for a directory with files (see below)
  std::vector<std::string> said;  // parts of what is said
  int exit_code = 2;
};

// The directory: `empty`, an empty file; `text`, a file that is no program; `words.txt`; the directory `folder`; `job`, a program
// that prints its arguments.
const WrongUse kWrongUses[] = {
    // Commands.
    {"weft", {"needs a command: master, worker", "weft --help"}},
    {"weft jbo list", {"unknown command 'jbo' of weft", "did you mean 'job'?", "weft --help"}},
    {"weft job", {"weft job needs a command: list, status", "weft job --help"}},
    {"weft job lst", {"unknown command 'lst' of weft job", "did you mean 'list'?", "weft job --help"}},
    {"weft job stat 1", {"'stat'", "did you mean 'status'?"}},
    {"weft job ps", {"unknown command 'ps' of weft job", "list, status, counters, logs, cancel, kill"}},
    {"weft ls", {"unknown command 'ls' of weft", "did you mean 'weft fs ls'?"}},
    {"weft kill 3", {"did you mean 'weft job kill'?"}},
    {"weft list", {"did you mean 'weft job list' or"}},
    {"weft node lits", {"'lits' of weft node", "did you mean 'list'?"}},
    {"weft fs lss", {"'lss' of weft fs", "did you mean 'ls'?"}},
    {"weft fs copy a b", {"unknown command 'copy' of weft fs", "did you mean 'cp'?"}},
    {"weft table snapshot make t s", {"'make' of weft table snapshot", "create, list, drop", "weft table snapshot --help"}},
    {"weft table snpshot list t", {"did you mean 'snapshot'?"}},
    {"weft profile lits", {"'lits' of weft profile", "did you mean 'list'?"}},
    {"weft pool show", {"unknown command 'show' of weft pool", "weft pool --help"}},
    {"weft scheduler", {"weft scheduler needs a command: show, reload, use"}},
    {"weft scheduler change fair", {"unknown command 'change' of weft scheduler"}},
    {"weft journal fix x", {"unknown command 'fix' of weft journal"}},
    {"weft simluate", {"did you mean 'simulate'?"}},
    {"weft completion tcsh", {"SHELL: 'tcsh' is none of bash, zsh, fish", "weft completion --help"}},
    // Options.
    {"weft job list --jsn", {"unknown option --jsn", "did you mean --json?", "weft job list --help"}},
    {"weft job list --mastr x", {"unknown option --mastr", "did you mean --master?"}},
    {"weft --mastr x job list", {"unknown option --mastr", "did you mean --master?", "weft --help"}},
    {"weft job --jsno list", {"unknown option --jsno", "did you mean --json?", "weft job --help"}},
    {"weft job list -x", {"unknown option -x", "weft job list --help"}},
    {"weft --master x journal check @/empty", {"weft journal check has no option --master", "weft journal check --help"}},
    {"weft --racks job list", {"weft job list has no option --racks"}},
    {"weft job list --master", {"--master needs a value", "weft job list --help"}},
    {"weft job kill 1 --reason --json", {"--reason needs a value"}},
    {"weft fs head -n", {"-n needs a value", "weft fs head --help"}},
    {"weft master --schedular fifo", {"did you mean --scheduler?", "weft master --help"}},
    {"weft worker --slot 3", {"did you mean --slots?"}},
    // Arguments.
    {"weft job status", {"JOB is required", "weft job list", "weft job status --help"}},
    {"weft job status first", {"JOB: 'first' is not a job number; weft job list shows them"}},
    {"weft job logs 1 --task 7", {"--task: '7' is no task; write STAGE.TASK, such as 3.17"}},
    {"weft job status 1 2", {"'2' is more than weft job status takes", "weft job status [OPTIONS] JOB"}},
    {"weft node drain", {"WORKER is required"}},
    {"weft node set w1", {"CAPACITY is required"}},
    {"weft node set w1 slots=many", {"CAPACITY: ", "many is not a number"}},
    {"weft node wait some", {"COUNT: 'some' is not a whole number from 0 on", "weft node wait --help"}},
    {"weft fs setrep many /a", {"REPLICAS: 'many' is not a whole number"}},
    {"weft fs chmod u+w /a", {"MODE: 'u+w' is no mode: three octal digits, such as 644"}},
    {"weft fs chmod 888 /a", {"MODE: '888' is no mode"}},
    {"weft fs chown ann", {"PATH", "weft fs chown --help"}},
    {"weft fs put one", {"FILE", "weft fs put --help"}},
    {"weft table create", {"TABLE is required: Name of the table"}},
    {"weft scheduler use", {"SCHEDULER is required"}},
    {"weft profile forget", {"name a program, or give --all"}},
    {"weft profile forget a --all", {"exclude each other"}},
    // Values.
    {"weft --log inof job list", {"--log: 'inof' is none of debug, info, warn, error, off", "did you mean info?"}},
    {"weft master --shuffle-mode pul", {"--shuffle-mode: 'pul' is none of memory, pull", "did you mean pull?"}},
    {"weft master --slow-start 3", {"--slow-start: '3' is not a number from 0 to 1", "weft master --help"}},
    {"weft master --lease soon", {"--lease", "soon"}},
    {"weft master --lease 0s", {"--lease: must be more than 0"}},
    {"weft master --lease 300ms", {"--lease: 300ms is too short for writers to renew it in time; at least 1s"}, 1},
    {"weft worker --chunk-reserve lots", {"--chunk-reserve", "lots"}},
    {"weft worker --config @/nothing", {"--config: there is no ", "correct the path"}},
    {"weft worker --forecast @/nothing", {"--forecast", "nothing"}},
    {"weft fs head -n few /a", {"--lines: 'few' is not a whole number"}},
    {"weft submit --hint shufle_ratio=1 @/job", {"there is no hint 'shufle_ratio'", "did you mean shuffle_ratio?"}},
    // submit.
    {"weft run", {"FILE is required"}},
    {"weft submit", {"PROGRAM is required"}},
    {"weft submit @/job --input x", {"--input is no option of weft submit", "stand after --", "/job -- --input"}},
    {"weft submit nowhere-to-be-found", {"there is no program nowhere-to-be-found here or in $PATH"}, 1},
    {"weft submit @/nothing", {"there is no ", "build it first, or correct the path"}, 1},
    {"weft submit @/folder", {"is a directory; name the job program in it"}, 1},
    {"weft submit @/words.txt", {"is not executable; chmod +x"}, 1},
    {"weft submit @/text", {"is no program"}, 1},
    // No master, no file.
    {"weft job list --patience 0s --master 127.0.0.1:1",
     {"no weft master answers at 127.0.0.1:1; start one with `weft master`"},
     1},
    {"weft job list --master here", {"--master: ", "here"}},
    {"weft --master foo:x job list", {"--master: ", "foo:x"}},
    {"weft job list --master 127.0.0.1:port", {"127.0.0.1:port"}},
    {"weft job list --patience 0s --master no.such.host.invalid:7077", {"no.such.host.invalid"}, 1},
    {"weft fs ls --patience 100ms --master 127.0.0.1:1", {"gave up after 0.1 s: no weft master answers at 127.0.0.1:1"}, 1},
    {"weft fs ls --patience 100ms --master 127.0.0.1:1,127.0.0.1:2",
     {"no weft master answers at 127.0.0.1:1,127.0.0.1:2; start one with `weft master`",
      "; where masters run there, none of them leads: look at their logs and at etcd",
      "cannot connect to 127.0.0.1:1 (Connection refused), nor to 127.0.0.1:2 (Connection refused)"},
     1},
    {"weft job list --master 127.0.0.1:1,127.0.0.1", {"'127.0.0.1' is not an address: no port (write HOST:PORT"}},
    {"weft worker --master a:1,,b:2", {"'' is not an address: no port (write HOST:PORT"}, 1},
    {"weft job list --patience soon", {"--patience: ", "soon"}},
    {"weft node wait --patience 1s", {"unknown option --patience"}},
    {"weft journal check @/nothing", {"nothing: No such file"}, 1},
    {"weft simulate --workload sorts:x", {"'sorts' is no kind of workload; there are jobs, swim", "weft simulate --help"}, 1},
    {"weft simulate --scheduler fiar --workload generate:jobs=1", {"fiar", "fair"}, 1},
    {"weft simulate --nodes none --workload generate:jobs=1", {"nodes", "none"}, 1},
    {"weft master --scheduler fiar --listen 127.0.0.1:0", {"fiar", "fair"}, 1},
    {"weft master --listen 7077", {"--listen: ", "7077"}},
    {"weft master --standby", {"--standby is for one of several masters"}},
    {"weft master --etcd nonsense --data-dir @/m", {"--etcd", "nonsense"}},
    {"weft master --etcd-prefix / --etcd http://127.0.0.1:1 --data-dir @/m", {"--etcd-prefix: "}},
    {"weft master --leader-lease 1s --etcd http://127.0.0.1:1 --data-dir @/m", {"--leader-lease: 1s is not from 2s to 1h"}},
    {"weft worker --slots none", {"worker.slots", "none"}, 1},
    // Job programs.
    {"wordcount", {"--input is required", "wordcount --help"}},
    {"wordcount --inptu @/words.txt --output @/out", {"unknown option --inptu, did you mean --input?", "wordcount --help"}},
    {"wordcount --input @/words.txt --output @/out --workers 500", {"--workers: '500' is not a number from 1 to 256"}},
    {"wordcount --input @/words.txt --output @/out --workers 2 --cluster 127.0.0.1:1", {"exclude each other"}},
    {"wordcount --input @/words.txt --output @/out --memory much", {"--memory", "much"}},
    {"wordcount --input @/nothing --output @/out", {"nothing"}, 1},
    {"wordcount --input @/words.txt --output", {"--output needs a value"}},
    {"terasort", {"terasort needs a command: ", "terasort --help"}},
    {"terasort srt", {"unknown command 'srt' of terasort, did you mean 'sort'?"}},
    {"terasort gen --recrods 5", {"unknown option --recrods, did you mean --records?", "terasort gen --help"}},
    // Values that make no sense, files that cannot be.
    {"wordcount --input @/words.txt --output @/out --threads 0", {"--threads: '0' is not a number from 1 to 1024"}},
    {"wordcount --input @/words.txt --output @/out --threads 99999999999999999999", {"--threads: '99999999999999999999'"}},
    {"wordcount --input @/words.txt --output @/out --partitions 1000000",
     {"--partitions: not a number from 1 to 100000", "each partition is a task"}},
    {"wordcount --input @/words.txt --output @/out --memory 1KiB", {"--memory: at least 8MiB"}},
    {"wordcount --input @/words.txt --output @/out --memory -5MiB",
     {"'-5MiB' is not a size (write for example 65536, 64KiB, 1.5GiB)"}},
    {"wordcount --input @/words.txt --output @/out --memory 99999999TiB", {"'99999999TiB' is not a size"}},
    {"wordcount --input @/words.txt --output @/out --cluster nowhere.invalid:7077",
     {"no weft master answers at nowhere.invalid:7077", "cannot resolve host"},
     1},
    {"wordcount --input @/words.txt --output @/out --cluster 127.0.0.1",
     {"'127.0.0.1' is not an address: no port (write HOST:PORT"},
     1},
    {"wordcount --input @/words.txt --output @/out --cluster 127.0.0.1:99999", {"the port is not a number up to 65535"}, 1},
    {"wordcount --input @/words.txt --output @/out --scheduler nope", {"unknown scheduler 'nope' (known: "}, 1},
    {"wordcount --input @/words.txt --output @/out --scheduler fair(", {"lacks the closing parenthesis"}, 1},
    {"wordcount --input @/words.txt --output @/out --scheduler fair(x=1)", {"unknown scheduler option 'x' (known: pools"}, 1},
    {"wordcount --input @/words.txt --output @/out --scheduler fair(pools=@/nothing)",
     {"cannot open ", "nothing: No such file"},
     1},
    {"wordcount --input @/words.txt --output @/out --scheduler-plugin @/words.txt", {"cannot load the scheduler plugin"}, 1},
    {"wordcount --input @/words.txt --output @/out --priority high", {"--priority: 'high' is not a whole number"}},
    {"wordcount --input @/words.txt --output @/out --weight 0", {"is not a number above 0"}},
    {"wordcount --input @/words.txt --output @/out --weight nan", {"is not a number above 0"}},
    {"wordcount --input @/words.txt --output @/out --deadline yesterday",
     {"'yesterday' is not a duration (write for example 250ms, 5s"}},
    {"wordcount --input @/words.txt --output @/out --deadline -5s", {"'-5s' is not a duration"}},
    {"wordcount --input @/words.txt --output @/out --demand cpus=2", {"'cpus=2' is no amount of a resource", "known: cpu, memory"}},
    {"wordcount --input @/words.txt --output @/out --demand cpu=-1", {"cpu=-1 must be finite and not negative"}},
    {"wordcount --input @/words.txt --output @/out --demand cpu=1000",
     {"each task wants cpu=1000; the largest worker", "lower --demand"},
     1},
    {"wordcount --input @/words.txt --output @/out --hint deadline=soon", {"hint deadline: 'soon' is not a duration"}},
    {"wordcount --input @/words.txt --output @/out --task-timeout 5", {"--task-timeout: '5' is not a duration"}},
    {"wordcount --input @/words.txt --output @/out --max-attempts 0", {"--max-attempts: '0' is not a number from 1 to 1000"}},
    {"wordcount --input @/words.txt --output @/out --max-bad-records 200%", {"not a part from 0% to 100%"}},
    {"wordcount --input @/words.txt --output @/out --input-format csv", {"'csv' is none of auto, raw"}},
    {"wordcount --input @/words.txt --output @/out --overwrite=directorys",
     {"--overwrite: 'directorys' is none of all, directories", "did you mean directories?"}},
    {"wordcount --input @/words.txt --output @/out --overwrite=",
     {"--overwrite: nothing is behind its '=' (see wordcount --help)"}},
    {"wordcount --input @/words.txt --output @/out --quiet=", {"--quiet: nothing is behind its '='"}},
    {"wordcount --input @/words.txt --output @/out --explain=", {"--explain: nothing is behind its '='"}},
    {"wordcount --input @/words.txt --output @/out --shuffle-replicas 3", {"'3' is none of 1, 2 (see"}},
    {"wordcount --input @/words.txt --output @/out --slow-start 2", {"'2' is not a number from 0 to 1"}},
    {"wordcount --input @/words.txt --output @/out --stats @/nowhere/file",
     {"--stats: cannot write ", "/nowhere/file: there is no directory "}},
    {"wordcount --input @/words.txt --output @/out --stats @/folder", {"--stats: ", "folder is a directory; name a file"}},
    {"wordcount --input @/words.txt --output @/out --tmp @/nothing", {"cannot create a directory ", "No such file"}, 1},
    {"wordcount --input @/words.txt --output @/out --explain=pdf", {"'pdf' is none of text, dot"}},
    {"wordcount --input @/words.txt --output @/out extra", {"'extra' is more than wordcount takes"}},
    {"wordcount --input @/words.txt --output @/words.txt", {"words.txt exists; remove it, or use --overwrite"}, 1},
    {"wordcount --input @/words.txt --output @/x/y", {"the directory ", "/x does not exist"}, 1},
    {"wordcount --input @/folder/*.txt --output @/out", {"no input matches the pattern"}, 1},
    {"wordcount --input /dev/zero --output @/out", {"/dev/zero is a device, not a regular file", "save it to a file first"}, 1},
    {"wordcount --patience 0s --input weft://books --output @/out",
     {"cannot read input weft://books: no weft master answers at 127.0.0.1:1"},
     1},
    {"terasort gen --records -1 --output @/out", {"--records: '-1' is not a whole number from 0 on (see terasort gen --help)"}},
    {"terasort gen --records=-1 --output @/out", {"--records: '-1' is not a whole number from 0 on"}},
    {"terasort gen --records 1e9 --output @/out", {"--records: '1e9' is not a whole number from 0 on"}},
    {"terasort sort --input @/words.txt --output @/out", {"has 4 bytes, which is no multiple of the record size 100"}, 1},
    {"weft master --listen 127.0.0.1:99999", {"the port is not a number up to 65535"}},
    {"weft master --listen 127.0.0.1:0 --data-dir @/words.txt", {"--data-dir: cannot create ", "words.txt: Not a directory"}, 1},
    {"weft master --listen 127.0.0.1:0 --journal @/folder", {"cannot open the journal ", "folder: Is a directory"}, 1},
    {"weft master --listen 127.0.0.1:0 --journal @/words.txt", {"this is no weft journal"}, 1},
    {"weft master --listen 127.0.0.1:0 --topology @/nothing", {"cannot read the topology "}, 1},
    {"weft master --listen 127.0.0.1:0 --event-log @/nowhere/log", {"cannot open the event log: ", "there is no directory "}, 1},
    {"weft master --speculation maybe", {"'maybe': say on, off, or on("}},
    {"weft master --scheduler-timeout never", {"'never' is not a duration"}},
    {"weft worker --slots 100000000", {"worker.slots: 100000000 is not between 0 and 4096"}, 1},
    {"weft worker --memory 1000TiB", {"are more than the ", "lower --memory or --store-memory"}, 1},
    {"weft worker --attribute gpu", {"attribute 'gpu' is not of the form NAME=VALUE"}, 1},
    {"weft worker --capacity disk=1", {"'disk=1' is no amount of a resource"}, 1},
    {"weft worker --directory @/words.txt", {"cannot create ", "words.txt: Not a directory"}, 1},
    {"weft worker --chunk-dir @/words.txt", {"--chunk-dir: ", "words.txt is no directory; name one"}, 1},
    {"weft master --listen 127.0.0.1:0 --profiles @/words.txt", {"--profiles: ", "words.txt is no directory; name one"}, 1},
    {"weft fs get /a", {"PATH: 2 are needed, not 1: weft fs get "}},
    {"weft worker --link-rate 1", {"at least 4.00 MiB, or 0 for no limit"}, 1},
    {"weft job status -1", {"JOB: '-1' is not a job number; weft job list shows them"}},
    {"weft node wait 1 --timeout soon", {"'soon' is not a duration"}, 1},
    {"weft table import t @/nothing", {"cannot read ", "nothing: No such file"}, 1},
    {"weft simulate", {"give either --workload KIND:FILE or --from-log FILE"}, 1},
    {"weft simulate --workload generate:jobs=0", {"jobs: 0 is not between 1 and 10000000"}, 1},
    {"weft simulate --workload generate:jobs=1 --nodes 3 --cores 0", {"a node needs cpu"}, 1},
    {"weft simulate --from-log @/words.txt", {"words.txt:1: an object was expected"}, 1},
    {"weft simulate --seeds 0", {"--seeds: '0' is not a number from 1 to 1000000"}},
    {"weft simulate --one-machine nan", {"--one-machine: 'nan' is not a number above 0"}},
    {"weft simulate --workload generate:jobs=1 --one-machine 10 --cores 4 --racks 3", {"--one-machine is the whole cluster"}, 1},
    {"weft simulate --workload generate:jobs=1 --deadlines --event-log @/out", {"--event-log is of one run"}, 1},
    {"weft simulate --workload generate:jobs=1 --step 1ns", {"--step: about ", "give at least "}, 1},
    {"weft peek --delimiter || @/words.txt", {"--delimiter: '||' is not one character"}},
    {"weft job logs 1 --bytes -5", {"--bytes: '-5' is not a size"}},
    {"weft advise", {"give the event log of a cluster (--from-log FILE)"}, 1},
    {"weft advise --from-log @/nothing", {"there is no event log ", "nothing"}, 1},
    {"weft advise --from-log @/words.txt", {"words.txt:1: an object was expected"}, 1},
    {"weft advise --from-log a --goal fast", {"--goal: 'fast' is none of mean, p95, deadlines"}},
    {"weft advise --from-log a --budget 0s", {"--budget: must be more than 0"}},
    {"weft profile import @/words.txt", {"it was not written by `weft profile export`"}, 1},
    // Values where none are taken, twice, or empty; numbers of the wrong kind; places of other systems.
    {"weft job list --json=maybe", {"--json takes no value; leave 'maybe' out"}},
    {"weft fs put @/words.txt", {"FILE: 2 are needed, not 1: weft fs put [OPTIONS] FILE... TARGET"}},
    {"weft table put t k", {"KEY_VALUE: 2 are needed, not 1: weft table put [OPTIONS] TABLE KEY VALUE"}},
    {"weft master --event-log-keep -1", {"--event-log-keep: '-1' is not a whole number from 0 on"}},
    {"weft node wait 99999999999999999999", {"COUNT: 99999999999999999999 is too large"}},
    {"weft master --listen 127.0.0.1:0 --submit-dir @/nothing",
     {"--submit-dir: there is no ", "name the directory of job programs"},
     1},
    {"weft master --listen 127.0.0.1:0 --port-file @/folder", {"--port-file", "folder"}, 1},
    {"weft submit --detach @/nothing", {"there is no ", "build it first"}, 1},
    {"weft submit --detach @/text", {"is no program; name the built job program"}, 1},
    {"weft submit --detach --json --patience 0s @/job", {"no weft master answers at 127.0.0.1:1"}, 1},
    {"weft submit --json @/job", {"--json is for --detach"}, 1},
    {"weft submit --detach @/job -- --pool etl --priority high", {"--priority: 'high' is not a whole number"}, 1},
    {"weft submit --on-disconnect stay @/job", {"'stay' is none of kill, continue"}},
    {"weft job attach x", {"JOB: 'x' is not a job number"}},
    {"weft job logs 1 -f --json", {"--follow prints all"}, 1},
    {"weft job logs 1 --follow --task 1.1", {"--follow prints all"}, 1},
    {"weft job tail x", {"JOB: 'x' is not a job number; weft job list shows them"}},
    {"wordcount --input @/words.txt --output @/out --quiet=maybe", {"--quiet takes no value"}},
    {"wordcount --input @/words.txt --output @/out --output @/other", {"--output is given 2 times; give it once"}},
    {"wordcount --input @/words.txt --output @/out --threads 2 --threads 3", {"--threads is given 2 times"}},
    {"wordcount --input @/words.txt --output @/out --cluster=", {"--cluster has no value; give it HOST:PORT, or leave it out"}},
    {"wordcount --input @/words.txt --output @/out --stats=", {"--stats has no value; give it FILE, or leave it out"}},
    {"wordcount --input @/words.txt --output @/out --user=", {"--user has no value; give it NAME, or leave it out"}},
    {"wordcount --input @/words.txt --output @/out --tmp=", {"--tmp has no value; give it DIR, or leave it out"}},
    {"wordcount --input @/words.txt --output @/out --files nowhere", {"--files: 'nowhere' is not an address: no port"}},
    {"wordcount --input @/words.txt --output @/out --task-timeout 0s", {"--task-timeout: '0s' is not more than 0"}},
    {"wordcount --input @/words.txt --output @/out --deadline 0s", {"--deadline: '0s' is not more than 0"}},
    {"wordcount --input @/words.txt --output gs://a/b", {"output gs://a/b: outputs are directories of this machine"}, 1},
    {"wordcount --input gs://a/b --output @/out", {"input gs://a/b: only local files (a path, or file://PATH)"}, 1},
    {"wordcount --input @/words.txt --output file://@/words.txt", {"words.txt exists; remove it, or use --overwrite"}, 1},
};

TEST(WrongUses, SayInOneLineWhatIsWrongAndWhatToDo) {
  const ScratchDirectory directory;
  write_file(directory / "empty", "");
  write_file(directory / "text", std::string("\x01\x02 no program", 13));
  write_file(directory / "words.txt", "a b\n");
  write_file(directory / "job", "#!/bin/sh\necho \"$@\"\n");
  ASSERT_EQ(chmod((directory / "text").c_str(), 0755) | chmod((directory / "job").c_str(), 0755), 0);
  ASSERT_EQ(mkdir((directory / "folder").c_str(), 0755), 0);
  EXPECT_GE(std::size(kWrongUses), 140u);
  for (const WrongUse& use : kWrongUses) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : use.line + " ") {
      if (c == '@')
        word += directory.path();
      else if (c != ' ')
        word += c;
      else
        words.push_back(std::exchange(word, ""));
    }
    words[0].insert(0, WEFT_BIN_DIR "/");
    const auto result = run(words, {.environment = {{"WEFT_MASTER", "127.0.0.1:1"}}, .deadline = std::chrono::seconds(60)});
    EXPECT_EQ(result.exit_code, use.exit_code) << use.line << "\n" << result.err;
    EXPECT_EQ(result.out, "") << use.line;
    EXPECT_TRUE(one_line(result.err)) << use.line << "\n" << result.err;
    for (const std::string& part : use.said)
      EXPECT_TRUE(has(result.err, part)) << use.line << "\n" << result.err << "lacks: " << part;
  }
}

TEST(WrongUses, WorkersWhoseHostsNobodyKnowsHereAreNotWaitedFor) {
  const ScratchDirectory directory;
  const std::string weft = WEFT_BIN_DIR "/weft";
  Process master({weft, "master", "--listen", "127.0.0.1:0", "--port-file", directory / "port", "--data-dir", directory / "files"},
                 {.daemon = true});
  ASSERT_TRUE(eventually([&] { return !read_file(directory / "port").empty(); })) << master.err_so_far();
  std::string address = read_file(directory / "port");
  address.pop_back();
  Process worker({weft, "worker", "--master", address, "--chunk-dir", directory / "chunks", "--advertise", "rack-1.invalid"},
                 {.daemon = true});
  ASSERT_EQ(run({weft, "--master", address, "node", "wait", "1"}).exit_code, 0) << worker.err_so_far();
  write_file(directory / "words.txt", "a b\n");
  const auto begin = std::chrono::steady_clock::now();
  const auto result = run({weft, "--master", address, "fs", "put", "--patience", "10min", directory / "words.txt", "/words.txt"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(one_line(result.err) && has(result.err, "cannot resolve host 'rack-1.invalid': this machine knows no such name"))
      << result.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(1)) << "it was waited for";
  for (Process* process : {&worker, &master}) process->signal(SIGTERM);
  EXPECT_EQ(worker.wait().exit_code, 0);
  EXPECT_EQ(master.wait().exit_code, 0);
}

TEST(Submit, RunsTheFileOfTheCurrentDirectoryBeforeThatOfThePath) {
  const ScratchDirectory directory;
  write_file(directory / "sort", "#!/bin/sh\necho \"$@\"\n");
  ASSERT_EQ(chmod((directory / "sort").c_str(), 0755), 0);
  const auto result = run({"/bin/sh", "-c", "cd \"$1\" && exec \"$2\" submit --user me sort -- --input x", "sh", directory.path(),
                           WEFT_BIN_DIR "/weft"});
  EXPECT_EQ(result.out, "--input x --cluster 127.0.0.1:7077 --user me\n") << result.err;
}

}  // namespace
}  // namespace weft::test

/// An option of `watchctl`. A name means the same, and takes a value or not, for every verb that has it.
enum Option: String, CaseIterable {
    case socket = "--socket"
    case json = "--json"
    case noColor = "--no-color"
    case help = "--help"
    case version = "--version"
    case duration = "--for"
    case reason = "--reason"
    case data = "--data"
    case payload = "--payload"
    case line = "--line"
    case wait = "--wait"
    case changed = "--changed"
    case since = "--since"
    case until = "--until"
    case failed = "--failed"
    case all = "--all"
    case count = "-n"
    case follow = "-f"
    case plan = "--plan"
    case verbose = "--verbose"
    case quiet = "--quiet"
    case queue = "--queue"
    case handler = "--handler"
    case state = "--state"
    case pid = "--pid"
    case timeout = "--timeout"
    case iterations = "--iterations"
    case baseTime = "--base-time"
    case daylightSaving = "--daylight-saving"
    case raw = "--raw"
    case attempt = "--attempt"
    case copy = "--copy"
    case output = "--output"
    case mdoc = "--mdoc"
    case key = "--key"
    case after = "--after"
    case requires = "--requires"
    case at = "--at"
    case delay = "--in"
    case retries = "--retry"
    case name = "--name"
    case environment = "--env"
    case barrier = "--barrier"
    case priority = "--priority"
    case user = "--user"

    /// Those of every verb.
    static let global: Set<Option> = [.socket, .timeout, .json, .noColor, .help, .version]

    /// How the help names its value; `nil`: it takes none.
    var value: String? {
        switch self {
        case .json, .noColor, .help, .version, .wait, .changed, .failed, .all, .follow, .plan, .verbose, .quiet, .raw,
            .mdoc, .output, .barrier, .requires:
            nil
        case .socket: "PATH"
        case .duration, .timeout, .delay: "SPAN"
        case .pid: "PID"
        case .reason, .name, .key, .line: "TEXT"
        case .data, .count, .iterations, .attempt, .copy, .retries: "N"
        case .payload: "JSON"
        case .since: "WHEN"
        case .until, .baseTime, .at: "TIME"
        case .daylightSaving: "run|skip"
        case .queue: "QUEUE"
        case .handler: "HANDLER"
        case .state: "STATE"
        case .after: "ID|SPAN"
        case .environment: "NAME=VALUE"
        case .priority: "very-low|low|normal|high|very-high"
        case .user: "USER"
        }
    }

    var summary: String {
        switch self {
        case .socket: "the control socket of the daemon"
        case .json: "print the daemon's reply as JSON, one object on one line"
        case .noColor: "no colours (as with NO_COLOR in the environment)"
        case .help: "show the help, of one verb if it is given"
        case .version: "show the version of watchctl"
        case .duration: "resume by itself after this time, such as 1h 30min"
        case .reason: "the reason, which status and explain show"
        case .data: "the number that comes with the event"
        case .line: "a line for the handler, as if a descriptor had brought it; may be given several times"
        case .payload: "a JSON object that comes with the event"
        case .wait: "wait until it has ended"
        case .changed: "compare what a [Path] watches with what it has told, and tell the differences"
        case .since:
            "first what happened since this time, or (with follow) after the record of this number"
        case .until: "what ended before this time"
        case .failed: "only those that failed"
        case .all: "each run on a line of its own; (with forget) the failures of every handler; (with cat) defaults too"
        case .count: "how many operations at most"
        case .follow: "go on with what it writes, until it has ended"
        case .plan: "only say what would change"
        case .verbose: "name what would stay as it is, too"
        case .quiet: "print nothing about the watch files: the log of watchd says it"
        case .queue: "only those on this queue; (with run) run a command on it"
        case .handler: "only those of this handler"
        case .pid: "stay in the group until this process ends, such as $$; without it, the parent of watchctl"
        case .timeout:
            "give up when watchd is silent for so long; without it 30s, and verbs that wait never do"
        case .raw: "only what it wrote, byte for byte"
        case .attempt: "of this attempt, from 1; without it of the last one"
        case .copy: "of this copy of a process, from 1; without it of the first one"
        case .output:
            "also what runs and processes write, as it comes; (with run) wait, and print that"
        case .key: "commands of one key run one at a time, in the order in which --after and --at let them"
        case .after:
            "(run --queue) wait for the end of this operation; may be given several times; else as --in"
        case .requires: "with --after: it runs only if those have succeeded"
        case .at: "not before this time, such as 14:30, “tomorrow 08:00”, “2026-11-20 14:30” or “Mon 06:30”"
        case .delay: "not before so much time is over, such as 2h"
        case .retries: "try so many times more when it fails"
        case .name: "what people are shown in place of the command"
        case .environment:
            "set this in its environment; NAME alone: as it is here; may be given several times"
        case .barrier: "wait for all before it on a concurrent queue, run alone, then let the rest go on"
        case .priority: "among those that are ready on a concurrent queue"
        case .user: "run it as this user; for root and the group watchd"
        case .mdoc: "print the options and verbs as a part of watchctl(1), in the language of mdoc(7)"
        case .iterations: "how many elapses; 1 without it"
        case .baseTime: "begin after this time, not now"
        case .daylightSaving:
            "where clocks are changed: run (as watchd) misses nothing, skip is as systemd"
        case .state: "only those that are pending, ready, running, finished or cancelled (the newest 500 of those)"
        }
    }
}

import ControlInterface
import ControlKit
import Schedule
import Testing
import Varlink

@testable import watchctl

@Suite("Rendering")
struct RenderingTests {
    private func screen(width: Int = 100, isColoured: Bool = false) throws -> Screen {
        Screen(width: width, isColoured: isColoured, now: try Timestamp(parsing: Samples.now), local: .utc)
    }

    private func text(_ lines: [Styled], width: Int = 100) throws -> String {
        try screen(width: width).rendered(lines)
    }

    @Test func theStatusIsOneScreen() throws {
        let lines = StatusScreen(status: Samples.status, screen: try screen()).lines
        #expect(
            try text(lines) == """
                watchd 1.0 on db1, up since Wed 08:12 (2d 1h)                      /etc/watchd: 3 files, 41 sections
                DEGRADED: 1 problem, 1 pause                                                            Fri 09:48:02
                1 615 accepted = 1 601 done + 1 failed + 3 skipped + 1 running + 9 pending; 1 461 coalesced
                2 of at most 64 processes, 5 operations pending, 7.9 MB

                PROBLEMS
                  x path/media      42 of 1310 folders polled each 30s: inotify watches used up, 7h ago
                                    heals by itself · sysctl fs.inotify.max_user_watches=65536
                  = queue/database  paused by root 40min ago until 11:00, “pg upgrade”; 2 events kept

                RUNNING (1)  HANDLER  QUEUE    FOR  CAUSE
                  4790       sync     net    14min  path/data, 212 changes

                WAITING (5)  HANDLER  QUEUE  SINCE  FOR
                  4803       sync     net     2min  path/data, 31 changes
                  4 more: watchctl operations

                NEXT
                  10:00      in 12min  timer/report → report
                  Sat 02:30  in 16h    timer/nightly → backup, tell

                FINISHED    ID    HANDLER  RESULT          TOOK  TRY  CAUSE
                today, Fri 20 Nov
                  02:32:30  4711  backup   FAILED SIGKILL   41s    3  timer/nightly 02:30
                yesterday, Thu 19 Nov
                  18:04:05  4601  ingest   ok                1s    1  /srv/in/a\\x1b[2J.csv

                """)
    }

    @Test func anIdleStatusIsShort() throws {
        let lines = StatusScreen(status: Samples.idleStatus, screen: try screen(width: 80)).lines
        #expect(
            try text(lines, width: 80) == """
                watchd 1.0 on db1, up since Wed 08:12 (2d 1h)
                /etc/watchd/a.watch: 1 file, 1 section
                running                                                             Fri 09:48:02
                0 accepted = 0 done + 0 failed + 0 pending
                0 of at most 64 processes, 0 operations pending, 7.9 MB

                """)
    }

    @Test func theTotalsAddUp() throws {
        var counters = Counters()
        counters.held = 1
        counters.pending = 20
        counters.running = 300
        counters.done = 4000
        counters.failed = 50_000
        counters.cancelled = 600_000
        counters.skipped = 7_000_000
        counters.dropped = 80_000_000
        counters.annulled = 900_000_000
        counters.accepted = 987_654_321
        let sentence = StatusScreen.totals(counters)
        let sides = sentence.split(separator: "=")
        let numbers = sides[1].split(separator: "+").compactMap { Int($0.filter(\.isNumber)) }
        #expect(numbers.reduce(0, +) == Int(sides[0].filter(\.isNumber)))
        #expect(sides[0] == "987 654 321 accepted ")
    }

    @Test func sourcesAreATable() throws {
        let lines = Lists(screen: try screen()).sources([Samples.source, Samples.plainSource])
        #expect(
            try text(lines) == """
                SOURCE        STATE      LAST      NEXT  ACCEPTED  PENDING  FAILED  HANDLERS   WATCHES
                path/uploads  armed  3min ago  in 12min     1 615        9       1  thumbnail  /srv/uploads
                path/uploads  armed         -         -     1 615        9       1  thumbnail
                path/uploads: a queue's backlog is full

                """)
    }

    @Test func queuesAreATable() throws {
        let lines = Lists(screen: try screen()).queues([Samples.queue, Samples.plainQueue])
        #expect(
            try text(lines) == """
                QUEUE   TYPE          STATE                RUNNING  WAITING  ENTRIES  BACKLOG   DONE  FAILED  OLDEST
                images  concurrent 4  suspended by root …        2        9       31   10 000  1 601       1    2min
                images  concurrent 4  idle                       0        0        0   10 000  1 601       1       -

                """)
    }

    @Test func handlersAreATable() throws {
        let lines = Lists(screen: try screen()).handlers([Samples.handler, Samples.plainHandler])
        #expect(
            try text(lines) == """
                HANDLER    QUEUE    RUNNING  LAST  ENDED   DONE  FAILED  ACTION
                thumbnail  images         1  ok      now  1 601       1  Exec=/usr/bin/convert %p -thumbnail 200x20…
                tell       default        0  -         -      0       0  Log=done

                """)
    }

    @Test func operationsAreATable() throws {
        let operations = [Samples.operation, Samples.operationRunning, Samples.waitingOperation]
        #expect(
            try text(Lists(screen: screen()).operations(operations)) == """
                  ID  HANDLER  QUEUE    STATE           SINCE  TRY  CAUSE                   WAITS FOR
                4711  backup   default  FAILED SIGKILL     7h    3  timer/nightly 02:30     4709 (same handler)
                4790  sync     net      running         14min    1  path/data, 212 changes
                4803  sync     net      pending          2min    -  path/data, 31 changes

                """)
    }

    @Test func emptyListsSaySo() throws {
        #expect(try text(Lists(screen: screen()).operations([])) == "There are no such operations.\n")
        #expect(try text(Lists(screen: screen()).sources([])) == "The watch file has no sources.\n")
    }

    @Test func anOperationIsShownFromItsCauseToItsEnd() throws {
        let lines = OperationScreen(operation: Samples.detail, screen: try screen(width: 80)).lines
        #expect(
            try text(lines, width: 80) == """
                backup, 02:30                                     operation 4711, FAILED SIGKILL
                  Queue      default
                  Source     timer/nightly
                  Key        backup
                  Cause      timer/nightly 02:30
                  Submitted  02:30:00, 7h ago
                  Started    02:30:00, 7h ago
                  Ended      02:32:30, 7h ago
                  Took       41s
                  Pid        4242
                  Waits for  4709 (same handler)
                  Reason     rsync: connection refused
                  Carries    1 entry, 2 deliveries

                EVENTS (4)
                  09:44:10  90210  path/uploads  written /srv/uploads/a.jpg, 2 times
                  and 3 more

                RUN  STARTED   ENDED      PID  RESULT          REASON
                  3  02:31:49  02:32:30  4242  FAILED SIGKILL  rsync: connection refused

                STARTED 4712

                OUTPUT
                  rsync: connection refused
                  \\x1b[31mred

                """)
    }

    @Test func eachRecordIsALine() throws {
        let follow = FollowText(screen: try screen())
        #expect(
            try text(Samples.followed.dropFirst().map(follow.line)) == """
                09:48:02  records 3 to 6 are no longer kept
                09:48:02  path/uploads  written /srv/uploads/a.jpg, 2 times → thumbnail, tell
                09:48:02  4803 sync  pending  path/data, 31 changes
                09:48:02  4790 sync  running  pid 4300, path/data, 212 changes
                09:48:02  4711 backup  FAILED SIGKILL  41s, rsync: connection refused

                """)
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        for width in [40, 55, 80, 200] {
            let screen = try screen(width: width)
            let lists = Lists(screen: screen)
            let lines =
                StatusScreen(status: Samples.status, screen: screen).lines
                + lists.sources([Samples.source]) + lists.queues([Samples.queue])
                + lists.handlers([Samples.handler]) + lists.operations([Samples.operation])
            for line in lines { #expect(line.width <= width, "\(line.rendered(coloured: false))") }
        }
    }

    @Test func coloursAreOnlyForThoseWhoWantThem() throws {
        let lines = StatusScreen(status: Samples.status, screen: try screen()).lines
        #expect(!(try screen().rendered(lines).contains("\u{1b}")))
        let coloured = try screen(isColoured: true).rendered(lines)
        #expect(coloured.contains("\u{1b}[31mDEGRADED: 1 problem, 1 pause\u{1b}[0m"))
        // What comes from a file name is still escaped.
        #expect(coloured.contains("a\\x1b[2J.csv"))
    }
}

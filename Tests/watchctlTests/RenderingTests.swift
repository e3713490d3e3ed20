import ControlInterface
import ControlKit
import JSON
import Schedule
import Testing
import Varlink

@testable import ControlClient

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
        let shown = try text(lines)
        #expect(
            shown == """
                watchd 1.0 on db1, up since Wed 08:12 (2d 1h)                      /etc/watchd: 3 files, 41 sections
                DEGRADED: 1 problem, 1 pause, 1 process stopped by hand                                 Fri 09:48:02
                1 615 accepted = 1 601 done + 1 failed + 3 skipped + 1 running + 9 pending; 1 461 coalesced
                2 of at most 64 processes, 5 operations pending, 7.9 MB

                PROBLEMS
                  x path/media      42 of 1310 folders polled each 30s: inotify watches used up, 7h ago
                                    next try in 5s · heals by itself · sysctl fs.inotify.max_user_watches=65536
                  = queue/database  paused by root 40min ago until 11:00, “pg upgrade”; 2 events kept
                  = process/web     stopped by root, 40min ago
                                    it starts again with watchd · watchctl start web

                RUNNING (1)  HANDLER  QUEUE    FOR  CAUSE
                  4790       sync     net    14min  path/data, 212 changes

                WAITING (6)  HANDLER    QUEUE    SINCE  FOR
                  4803       sync       net       2min  path/data, 31 changes
                  4805       mail       net    1min 2s  attempt 2 in 10s
                  -          thumbnail  -          30s  RateLimit=1/1min, 30s more: 12 events of path/uploads
                  3 more: watchctl operations

                SEMAPHORES  FREE  VALUE  WAITING  HELD BY
                  archive      0      2        3  4711 backup: left right

                GROUPS          OPERATIONS  ENTERED
                  group/deploy           2        1

                NEXT
                  10:00:02          in 12min  timer/report → report
                  Sat 21 Nov 02:30  in 16h    timer/nightly → backup, tell

                FINISHED    ID    HANDLER  RESULT          TOOK  TRY  CAUSE
                today, Fri 20 Nov
                  09:47:08  4649  build    superseded        8s    1  path/src → 4650
                  02:32:30  4711  backup   FAILED SIGKILL   41s    3  timer/nightly 02:30, rsync: connection refused
                yesterday, Thu 19 Nov
                  18:04:05  4601  ingest   done              1s    1  /srv/in/a\\x1b[2J.csv

                """)
    }

    @Test func whatUsuallyTakesKnownTimeIsShownBesideItsAge() throws {
        var status = Samples.status
        status.running[0].usualUsec = 41_000_000
        let lines = try text(StatusScreen(status: status, screen: try screen()).lines).split(separator: "\n")
        let start = lines.firstIndex { $0.hasPrefix("RUNNING") } ?? 0
        #expect(lines[start] == "RUNNING (1)  HANDLER  QUEUE    FOR  USUALLY  CAUSE")
        #expect(lines[start + 1] == "  4790       sync     net    14min      41s  path/data, 212 changes")
    }

    @Test func anIdleStatusIsShort() throws {
        let lines = StatusScreen(status: Samples.idleStatus, screen: try screen(width: 80)).lines
        let shown = try text(lines, width: 80)
        #expect(
            shown == """
                watchd 1.0 on db1, up since Wed 08:12 (2d 1h)
                /etc/watchd/a.watch: 1 file, 1 section
                running                                                             Fri 09:48:02
                0 accepted = 0 done + 0 failed + 0 pending
                0 of at most 64 processes, 0 operations pending, 7.9 MB

                """)
    }

    @Test func whatAStopLeavesToTheNextStartIsCounted() throws {
        var status = Samples.idleStatus
        status.operationsKept = 2
        let shown = try text(StatusScreen(status: status, screen: try screen(width: 80)).lines, width: 80)
        #expect(shown.contains("0 operations pending, 2 for the next start, 7.9 MB\n"), "\(shown)")
    }

    /// A digit before the mark of a cut: a number that is not what it seems.
    private func isCutNumber(_ line: Substring) -> Bool {
        zip(line, line.dropFirst()).contains { $0.isNumber && $1 == "…" }
    }

    @Test(arguments: 40...100) func noNumberIsEverCut(width: Int) throws {
        let lists = Lists(screen: try screen(width: width))
        var (queue, source, handler) = (Samples.queue, Samples.source, Samples.handler)
        (queue.name, queue.operations, queue.backlog, queue.counters.done) = (
            "a-queue-of-a-long-name", 1_234_567, 10_000_000, 987_654
        )
        (source.name, source.counters.accepted) = ("path/a-source-of-a-long-name", 12_345_678)
        (handler.name, handler.counters.done) = ("a-handler-of-a-long-name", 12_345_678)
        let tables = [
            (lists.queues([queue, Samples.plainQueue]), "1 234 567"),
            (lists.sources([source, Samples.plainSource]), "12 345 678"),
            (lists.handlers([handler, Samples.plainHandler]), "12 345 678"),
            (lists.operations([Samples.completeOperation, Samples.waitingOperation]), "4803"),
            (StatusScreen(status: Samples.status, screen: try screen(width: width)).lines, "1 461 coalesced"),
        ]
        for (lines, number) in tables {
            let text = try text(lines, width: width)
            #expect(lines.allSatisfy { $0.width <= width }, "\(text)")
            let cut = text.split(separator: "\n").filter(isCutNumber)
            #expect(cut.isEmpty, "\(text)")
            // The backlog of a queue may be left out as a whole.
            #expect(width < 60 || text.replacing("\n", with: " ").contains(number), "\(text)")
        }
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
        let shown = try text(lines)
        #expect(
            shown == """
                SOURCE        STATE      LAST      NEXT  ACCEPTED  MERGED  PENDING  FAILED  HANDLERS   WATCHES
                path/uploads  armed  3min ago  in 12min     1 615   1 461        9       1  thumbnail  /srv/uploads
                path/uploads  armed         -         -     1 615   1 461        9       1  thumbnail
                path/uploads: a queue's backlog is full; next try in 5s
                path/uploads restarts in 12min, 3 restarts; before: exit 3 after 2s

                """)
    }

    @Test func timersAreInTheOrderInWhichTheyFire() throws {
        func timer(_ name: String, _ next: String?) -> ListSources.Source {
            var timer = ListSources.Source(
                name: "timer/\(name)", kind: "timer", state: next == nil ? .suspended : .armed, required: false,
                handlers: [name], counters: Samples.counters)
            (timer.nextElapse, timer.lastEvent) = (next, Samples.source.lastEvent)
            timer.detail = "OnCalendar=*:0/12"
            return timer
        }
        let timers = [timer("a", nil), timer("b", "2026-11-21T10:00:02Z"), timer("c", "2026-11-20T10:00:02Z")]
        let shown = try text(Lists(screen: try screen()).timers(timers))
        #expect(
            shown == """
                NEXT                       IN      LAST  TIMER    STATE      PENDING  HANDLERS  WHEN
                10:00:02             in 12min  3min ago  timer/c  armed            9  c         OnCalendar=*:0/12
                Sat 21 Nov 10:00:02     in 1d  3min ago  timer/b  armed            9  b         OnCalendar=*:0/12
                -                           -  3min ago  timer/a  suspended        9  a         OnCalendar=*:0/12

                """)
    }

    @Test func untilWhenASourceIsSuspendedIsShown() throws {
        var source = Samples.plainSource
        (source.state, source.suspended, source.suspendedBy) = (.suspended, 1, [Samples.suspension])
        #expect(try text(Lists(screen: screen()).sources([source])).contains("  suspended until 11:00  "))
        source.suspended = 2
        #expect(try text(Lists(screen: screen()).sources([source])).contains("  suspended 2x  "))
    }

    @Test func aTimerThatNeverElapsesSaysSo() throws {
        var timer = ListSources.Source(
            name: "timer/a", kind: "timer", state: .armed, required: false, handlers: ["a"], counters: Samples.counters)
        timer.neverElapses = true
        let screen = try screen()
        let (timers, sources) = (Lists(screen: screen).timers([timer]), Lists(screen: screen).sources([timer]))
        #expect(try text(timers).split(separator: "\n").last?.hasPrefix("never") == true)
        #expect(try text(sources).split(separator: "\n").last?.contains(" never ") == true)
        let lines = try text(SourceScreen(source: timer, screen: screen).lines).split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("  next event") && $0.hasSuffix("  never") })
    }

    @Test func whatWasDroppedHasAColumnOfItsOwnWhereThereIsAny() throws {
        var source = Samples.plainSource
        (source.counters.failed, source.counters.dropped) = (0, 1904)
        let table = try text(Lists(screen: try screen()).sources([source, Samples.plainSource]))
        let rows = table.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        #expect(rows[0].contains("DROPPED"), "\(table)")
        #expect(rows[1].suffix(5).joined(separator: " ") == "9 0 1 904 thumbnail", "\(table)")
        #expect(rows[2].suffix(3).joined(separator: " ") == "9 1 thumbnail", "\(table)")
    }

    @Test func oneSourceTellsAllThatIsKnown() throws {
        let lines = SourceScreen(source: Samples.source, screen: try screen(width: 70)).lines
        let shown = try text(lines, width: 70)
        #expect(
            shown == """
                path/uploads                                                     armed
                  about       Pictures of the web shop
                  defined     /etc/watchd/uploads.watch:3
                  watches     /srv/uploads
                  because     a queue's backlog is full
                  next try    in 5s
                  paused      by root 40min ago until 11:00, “pg upgrade”
                  members     2 operations of them not ended, 1 ticket not given back
                  starts      thumbnail
                  process     restarts in 12min, 3 restarts; before: exit 3 after 2s
                  process     4242
                  last event  09:44:10, 3min ago
                  next event  10:00:02, in 12min
                  events      1 615 accepted = 1 601 done + 1 failed + 3 skipped + 1
                              running + 9 pending; 1 461 coalesced
                  costs       12 inotify watches, 1 descriptor

                """)
    }

    @Test func whatRunsOnAQueueIsNamed() throws {
        let running = [Samples.operationRunning]
        let sheet = QueueScreen(queue: Samples.queue, running: running, screen: try screen(width: 70))
        let shown = try text(sheet.lines, width: 70)
        #expect(
            shown == """
                queue/images                             suspended by root until 11:00
                  defined  /etc/watchd/uploads.watch:9
                  type     concurrent, 4 at a time, QoS default
                  target   queue/disk
                  paused   by root 40min ago until 11:00, “pg upgrade”
                  running  4790 sync for 14min (pid 4300), path/data, 212 changes
                  waiting  9 operations, the oldest for 2min
                  backlog  31 of 10 000 entries, 0 of 64M; above it Overflow=block
                  events   1 615 accepted = 1 601 done + 1 failed + 3 skipped + 1
                           running + 9 pending; 1 461 coalesced

                """)
    }

    @Test func aHandlerShowsItsLastLines() throws {
        let output = [Styled("one"), Styled("two")]
        let sheet = HandlerScreen(
            handler: Samples.handler, running: [], output: output, screen: try screen(width: 70))
        let shown = try text(sheet.lines, width: 70)
        #expect(
            shown == """
                handler/thumbnail                                              running
                  defined   /etc/watchd/uploads.watch:14
                  does      Exec=/usr/bin/convert %p -thumbnail 200x200 /srv/thumbs/%f
                  queue     images
                  overlap   wait (default)
                  worker    holds 2 lines: operations 4711, 4712; restarts in 12min, 3
                            restarts; before: exit 3 after 2s
                  last run  done, 09:48:02, now
                  events    1 615 accepted = 1 601 done + 1 failed + 3 skipped + 1
                            running + 9 pending; 1 461 coalesced
                  output    one
                            two

                """)
    }

    @Test func aSemaphoreShowsItsUsers() throws {
        let sheet = SemaphoreScreen(
            semaphore: Samples.semaphore, users: ["operation 2 runs"], screen: try screen(width: 70))
        let shown = try text(sheet.lines, width: 70)
        #expect(
            shown == """
                semaphore/archive                                               0 free
                  defined  /etc/watchd/archive.watch:1
                  value    2
                  members  left right
                  held by  4711 backup: left right
                  in line  3 operations
                  used by  operation 2 runs

                """)
    }

    @Test func queuesAreATable() throws {
        let lines = Lists(screen: try screen()).queues([Samples.queue, Samples.plainQueue])
        let shown = try text(lines)
        #expect(
            shown == """
                QUEUE          STATE                          RUNNING  WAITING    BACKLOG   DONE  FAILED  OLDEST
                images → disk  suspended by root until 11:00        2        9  31/10 000  1 601       1    2min
                images         idle                                 0        0   0/10 000  1 601       1       -

                """)
    }

    @Test func handlersAreATable() throws {
        var handler = Samples.handler
        handler.workers = nil
        let lines = Lists(screen: try screen()).handlers([handler, Samples.plainHandler])
        let shown = try text(lines)
        #expect(
            shown == """
                HANDLER    QUEUE    RUNNING  LAST  ENDED   DONE  FAILED  ACTION
                thumbnail  images         1  done    now  1 601       1  Exec=/usr/bin/convert %p -thumbnail 200x…
                tell       default        0  -         -      0       0  Log=done

                """)
    }

    @Test func theWorkersOfAHandlerStandInItsRow() throws {
        let lines = Lists(screen: try screen(width: 200)).handlers([Samples.handler, Samples.plainHandler])
        let shown = try text(lines, width: 200)
        #expect(shown.contains("WORKERS") && shown.contains("4242 (2)"), "\(shown)")
    }

    @Test func operationsAreATable() throws {
        let operations = [
            Samples.operation, Samples.operationRunning, Samples.waitingOperation, Samples.backingOff,
            Samples.superseded,
        ]
        let shown = try text(Lists(screen: screen()).operations(operations))
        #expect(
            shown == """
                  ID  HANDLER  QUEUE    STATE             SINCE  TRY  CAUSE                   WAITS FOR
                4711  backup   default  FAILED SIGKILL       7h    3  timer/nightly 02:30     4709 (same handler)
                4790  sync     net      running           14min    1  path/data, 212 changes
                4803  sync     net      pending            2min    -  path/data, 31 changes
                4805  mail     net      pending         1min 2s    1  timer/mail              attempt 2 in 10s
                4649  build    net      superseded          54s    1  path/src                → 4650

                """)
    }

    @Test func semaphoresAreATable() throws {
        let plain = ListSemaphores.Semaphore(name: "licences", value: 1000, available: 1000)
        let shown = try text(Lists(screen: screen()).semaphores([Samples.semaphore, plain]))
        #expect(
            shown == """
                SEMAPHORE   FREE  VALUE  WAITING  HELD BY
                archive        0      2        3  4711 backup: left right
                licences   1 000  1 000        0

                """)
    }

    @Test func anExplanationHasThePlacesAtItsRight() throws {
        var other = Samples.explanation
        other.operation = nil
        other.object = "queue/default"
        let one = ExplainScreen(explanation: Samples.explanation, screen: try screen(width: 80))
        let shown = try text(one.lines, width: 80)
        #expect(
            shown == """
                backup, 02:30                                     operation 4711, FAILED SIGKILL
                  02:30:00.001  submitted  queued on default                nightly.watch:13
                  now           barrier    barrier: 4 operations before it     queue/default

                """)
        let second = try text(ExplainScreen(explanation: other, screen: screen(width: 80)).lines, width: 80)
        #expect(
            second == """
                queue/default
                  02:30:00.001  submitted  4711: queued on default          nightly.watch:13
                  now           barrier    barrier: 4 operations before it     queue/default

                """)
    }

    @Test func aLongSentenceOfAnExplanationGoesOnBelow() throws {
        let words = "queue images suspended by root, because the disks of the archive are being changed this week"
        let step = Explain.Step(time: nil, code: "suspended", sentence: words)
        let reply = Explain.Reply(object: "queue/images", steps: [step])
        let lines = ExplainScreen(explanation: reply, screen: try screen(width: 60)).lines
        let shown = try text(lines, width: 60)
        #expect(
            shown == """
                queue/images
                  now  suspended  queue images suspended by root, because
                                  the disks of the archive are being
                                  changed this week

                """)
    }

    @Test func aReasonIsToldOnceAndHidesNoColumn() throws {
        var operation = Samples.operation
        (operation.signal, operation.exitStatus, operation.waitingFor) = (nil, nil, nil)
        (operation.nextAttempt, operation.parts, operation.successor) = (nil, nil, nil)
        let reason = "the program /srv/bin/backup is not there: " + String(repeating: "long ", count: 30)
        operation.reason = reason
        let list = try text(Lists(screen: screen()).operations([operation]))
        for word in ["STATE", "SINCE", "CAUSE", "WAITS FOR", "FAILED", "timer/nightly"] {
            #expect(list.contains(word), "\(list)")
        }
        let record = Follow.Reply(sequence: 1, time: Samples.now, operation: operation)
        let line = try text(FollowText(screen: screen()).lines(record))
        #expect(line.split(separator: "the program").count == 2, "\(line)")
        let anew = Follow.Reply(sequence: 0, time: Samples.now, gap: .init(first: 91, last: 0))
        #expect(try text(FollowText(screen: screen()).lines(anew)).contains("started anew after record 90"))
    }

    @Test func emptyListsSaySo() throws {
        #expect(try text(Lists(screen: screen()).operations([])) == "There are no such operations.\n")
        #expect(try text(Lists(screen: screen()).sources([])) == "The watch file has no sources.\n")
    }

    @Test func anOperationIsShownFromItsCauseToItsEnd() throws {
        let lines = OperationScreen(operation: Samples.detail, screen: try screen(width: 80)).lines
        let shown = try text(lines, width: 80)
        #expect(
            shown == """
                backup, 02:30                                     operation 4711, FAILED SIGKILL
                  Queue        default
                  Source       timer/nightly
                  Key          backup
                  Cause        timer/nightly 02:30
                  Submitted    02:30:00, 7h ago
                  Started      02:30:00, 7h ago
                  Ended        02:32:30, 7h ago
                  Took         41s
                  Pid          4242
                  Progress     43%
                  Holds        archive left right
                  Waits for    4709 (same handler)
                  Reason       rsync: connection refused
                  Depends on   4708
                  Next try     in 10s
                  Parts        3 of 4 done
                  Followed by  operation 4712
                  Durable      yes: kept until it has run
                  Not stored   no space left; after a crash of watchd it runs again
                  Left behind  2 processes of its run went on after its end, as KillMode= says
                  Unit         watchd-run-1-1.h.0.service, invocation
                               0123456789abcdef0123456789abcdef
                  Redelivered  yes: a run of it may have happened before
                  Dealt with   tried again as 4712
                  Trace        4bf92f3577b34da6a3ce929d0e0e4736-53995c3f42cd8ad8
                  Carries      1 entry, 2 deliveries

                EVENTS (4)
                  09:44:10  90210  path/uploads  written /srv/uploads/a.jpg, 2 times
                  and 3 more

                RUN  STARTED   ENDED      PID  RESULT          REASON
                  3  02:31:49  02:32:30  4242  FAILED SIGKILL  rsync: connection refused
                run 3 used 1.5s of CPU, 12.3 MB of memory at most, read 4.1 kB, wrote 8.2 kB
                (without a cgroup: its process and what that has waited for)

                STARTED 4712

                OUTPUT
                  … watchd was restarted while this ran: what it had written before is in the
                  log only
                  rsync: connection refused
                  \\x1b[31mred

                """)
    }

    @Test func ofALongOutputTheEndIsShown() throws {
        var operation = Samples.detail
        operation.summary.foundAgain = nil
        operation.output = (1...120).map { "line \($0)\n" }.joined()
        let shown = try text(OperationScreen(operation: operation, screen: try screen(width: 80)).lines, width: 80)
        #expect(shown.contains("OUTPUT\n  100 lines before: watchctl output 4711\n  line 101\n"), "\(shown)")
        #expect(shown.hasSuffix("line 120\n") && !shown.contains("line 100\n"))
        operation.output = (1...20).map { "line \($0)\n" }.joined()
        let all = try text(OperationScreen(operation: operation, screen: try screen(width: 80)).lines, width: 80)
        #expect(all.contains("OUTPUT\n  line 1\n"))
    }

    @Test func eachRecordIsALine() throws {
        let follow = FollowText(screen: try screen())
        let shown = try text(Samples.followed.dropFirst().flatMap(follow.lines))
        #expect(
            shown == """
                09:48:02  records 3 to 6 are no longer kept
                09:48:02  path/uploads  written /srv/uploads/a.jpg, 2 times → thumbnail, tell
                09:48:02  4803 sync  already pending  path/data, 31 changes
                09:48:02  4803 sync  pending  path/data, 31 changes
                09:48:02  4805 mail  pending  attempt 2 in 10s
                09:48:02  4790 sync  running  pid 4300, path/data, 212 changes
                09:48:02  4711 backup  FAILED SIGKILL  41s, rsync: connection refused
                09:48:02  process/web 2| up
                09:48:02  4711 backup| a
                09:48:02  4711 backup| b

                """)
    }

    @Test func anEventByHandIsNoneOfTheSource() throws {
        func told(_ kind: String, _ name: String, _ more: [String: JSONValue], to handler: String) throws -> String {
            let members: [String: JSONValue] = [
                "source": .string(name), "kind": .string(kind), "by_hand": .bool(true),
                "event": .string(kind == "timer" ? "elapsed" : kind == "path" ? "written" : "emitted"),
            ]
            let event = JSONValue.object(members.merging(more) { $1 })
            let record = Follow.Reply(sequence: 1, time: Samples.now, event: event, handlers: [handler])
            return try text(FollowText(screen: screen()).lines(record))
        }
        #expect(try told("timer", "a", [:], to: "a") == "09:48:02  timer/a  run by hand → a\n")
        #expect(try told("custom", "g1", ["data": .int(1)], to: "g1") == "09:48:02  g1  run by hand → g1\n")
        #expect(
            try told("custom", "x", ["data": .int(7)], to: "y") == "09:48:02  custom/x  emitted 7, run by hand → y\n")
        #expect(
            try told("path", "up", ["path": .string("/a")], to: "up")
                == "09:48:02  path/up  written /a, run by hand → up\n")
    }

    @Test func aRecordOfManySkippedDeliveriesSaysHowMany() throws {
        var operation = OperationSummary(
            id: 9, handler: "solo", queue: "default", source: "timer/solo", state: .finished, entries: 12,
            deliveries: 12, cause: "timer/solo, 12 events", submitted: Samples.now)
        (operation.result, operation.reason) = (.skipped, "Overlap=skip: 7 still runs")
        let record = Follow.Reply(sequence: 1, time: Samples.now, operation: operation)
        #expect(
            try text(FollowText(screen: screen()).lines(record))
                == "09:48:02  9 solo  skipped  Overlap=skip: 7 still runs, 12 events\n")
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        for width in [40, 55, 80, 200] {
            let screen = try screen(width: width)
            let lists = Lists(screen: screen)
            let lines =
                StatusScreen(status: Samples.status, screen: screen).lines
                + lists.sources([Samples.source]) + lists.queues([Samples.queue])
                + lists.handlers([Samples.handler]) + lists.operations([Samples.operation])
                + lists.semaphores([Samples.semaphore])
                + ExplainScreen(explanation: Samples.explanation, screen: screen).lines
            for line in lines { #expect(line.width <= width, "\(line.rendered(coloured: false))") }
        }
    }

    @Test func coloursAreOnlyForThoseWhoWantThem() throws {
        let lines = StatusScreen(status: Samples.status, screen: try screen()).lines
        #expect(!(try screen().rendered(lines).contains("\u{1b}")))
        let coloured = try screen(isColoured: true).rendered(lines)
        #expect(coloured.contains("\u{1b}[31mDEGRADED: 1 problem, 1 pause, 1 process stopped by hand\u{1b}[0m"))
        // What comes from a file name is still escaped.
        #expect(coloured.contains("a\\x1b[2J.csv"))
    }
}

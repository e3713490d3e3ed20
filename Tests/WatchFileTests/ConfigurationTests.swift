import FoundationEssentials
import Schedule
import Testing
import WatchFile

@Suite("Configuration")
struct ConfigurationTests {
    @Test func anEmptyFileHasTheBuiltInQueuesAndTheDefaults() throws {
        let configuration = try #require(load("", processors: 2).configuration)
        #expect(configuration.settings == DaemonSettings(maxProcesses: 16))
        #expect(configuration.queues.map(\.name) == QueueDefinition.builtInNames)
        #expect(configuration.queues.map(\.kind) == [.serial] + Array(repeating: .concurrent(width: 16), count: 5))
        #expect(load("", processors: 100).configuration?.settings.maxProcesses == 400)
        #expect(
            load("[Queue a]\nType=concurrent", processors: 6).configuration?.queues.last
                == QueueDefinition(name: "a", kind: .concurrent(width: 6)))
    }

    @Test func theBuiltInQueuesHaveTheQoSOfTheirNamesAndNoTarget() throws {
        let text =
            "[Queue]\nQoS=background\nTarget=high\nRateLimit=5/1s\n[Queue utility]\nQoS=utility\nBacklog=1\n[Queue own]\n"
        let queues = try #require(load(text).configuration?.queues)
        #expect(
            queues.map(\.qos) == [
                .default, .userInteractive, .userInitiated, .default, .utility, .background, .background,
            ])
        #expect(queues.map(\.target) == Array(repeating: nil, count: 6) + ["user-initiated"])
        #expect(queues.allSatisfy { $0.rateLimit == RateLimit(count: 5, span: .seconds(1)) })
    }

    @Test func unitsOfOneSemaphoreAddUpInOneKey() throws {
        let text = """
            [Semaphore a]
            Value=10
            [Semaphore b]
            Value=0
            [Handler h]
            Log=x
            Acquire=a b:3 a:4
            Acquire=a
            Release=b
            """
        let constraints = try #require(load(text).configuration?.handlers.first?.constraints)
        #expect(constraints.acquires == [SemaphoreCount(name: "a", count: 6), SemaphoreCount(name: "b", count: 3)])
        #expect(constraints.releases == [SemaphoreCount(name: "b", count: 1)])
    }

    @Test func theLongestRetryPauseIsFiveMinutesOrTheFirst() throws {
        let text =
            "[Handler a]\nLog=x\nRetry=3\n[Handler b]\nLog=x\nRetrySec=10min\n[Handler c]\nLog=x\nRetry=infinity\nRetrySec=0\n"
        let handlers = try #require(load(text).configuration?.handlers)
        #expect(
            handlers.map(\.retry) == [
                RetryPolicy(limit: 3), RetryPolicy(delay: .seconds(600), maxDelay: .seconds(600)),
                RetryPolicy(limit: nil, delay: .milliseconds(1)),
            ])
    }

    @Test func aGroupOfASourcesOwnActionHasThatHandler() throws {
        let text = "[Timer t]\nEverySec=1h\nLog=x\n[Group g]\nMembers=t t\nLog=done\nQueue=main\n"
        let group = try #require(load(text).configuration?.sources.last)
        #expect(
            group
                == SourceDefinition(
                    id: .init(.group, "g"), routes: [Route(handler: "g", queue: "main")],
                    trigger: .group(GroupTrigger(members: ["t"]))))
    }

    @Test func whatOutlivesTheDaemonIsRead() throws {
        let text = """
            [Watchd]
            StateDirectory=/srv/state
            KeepHistory=0
            KeepHistorySec=2d
            Sync=normal
            [Queue q]
            Durable=yes
            """
        let configuration = try #require(load(text).configuration)
        #expect(configuration.settings.stateDirectory == Array("/srv/state".utf8))
        #expect(configuration.settings.keepHistory == 0)
        #expect(configuration.settings.keepHistorySpan == .seconds(2 * 24 * 3600))
        #expect(configuration.settings.sync == .normal)
        #expect(configuration.queues.last?.isDurable == true)
        #expect(configuration.queues.first?.isDurable == false)
    }

    @Test func defaultsOfSourcesDependOnTheirKind() throws {
        let text = """
            [Descriptor d]
            ListenFIFO=/run/d
            Log=x
            [Descriptor e]
            ListenDatagram=514
            Log=x
            [Path p]
            Path=/p
            Log=x
            """
        let sources = try #require(load(text).configuration?.sources)
        #expect(
            sources[0]
                == SourceDefinition(
                    id: .init(.descriptor, "d"), routes: [Route(handler: "d", queue: "default")], key: .none,
                    coalesces: false, trigger: .descriptor(.init(listener: .fifo(Array("/run/d".utf8)), framing: .line))
                ))
        let everywhere = SocketAddress.ipv6(address: Array(repeating: 0, count: 16), port: 514)
        #expect(sources[1].trigger == .descriptor(.init(listener: .datagram(everywhere), framing: .datagram)))
        #expect(
            sources[2]
                == SourceDefinition(
                    id: .init(.path, "p"), routes: [Route(handler: "p", queue: "default")],
                    trigger: .path(.init(paths: [Array("/p".utf8)]))))
    }

    @Test func aSourceRunsItsOwnActionAndItsHandlers() throws {
        let text = """
            [Timer t]
            EverySec=1h
            Handler=h h t
            Handler=g
            Log=own
            Queue=high
            [Handler h]
            Log=x
            Queue=main
            [Handler g]
            Log=x
            [Timer u]
            EverySec=1h
            Handler=h g
            """
        let configuration = try #require(load(text).configuration)
        #expect(configuration.handlers.map(\.name) == ["t", "h", "g"])
        #expect(configuration.handlers[0].queue == "user-initiated")
        #expect(configuration.sources[0].routes.map(\.handler) == ["t", "h", "g"])
        #expect(Set(configuration.sources[0].routes.map(\.queue)) == ["user-initiated"])
        #expect(configuration.sources[1].routes.map(\.queue) == ["main", "default"])
        #expect(configuration.locations["timer/t"] == SourceLocation(file: "test.watch", line: 1))
        #expect(configuration.locations["handler/t"] == SourceLocation(file: "test.watch", line: 1))
        #expect(configuration.locations["handler/h"] == SourceLocation(file: "test.watch", line: 7))
    }

    @Test func aSourceMayBeThereForItsSilenceOnly() throws {
        let text = "[Custom beat]\nSilenceSec=1h\nOnSilence=tell\n[Handler tell]\nLog=quiet"
        let source = try #require(load(text).configuration?.sources.first)
        #expect(source.routes.isEmpty && source.silence == SilenceRule(span: .seconds(3600), onSilence: ["tell"]))
    }

    @Test func commandsAreSplitAsSystemdDoes() throws {
        let line = #"Exec=/bin/x 'a b' "c \"d\"" e'f g'h "" \x41\102\s\t\u00e9\U0001F600 \\ $HOME ${A} \; 100%% %p%f"#
        let action = try #require(load("[Handler h]\n\(line)").configuration?.handlers.first?.action)
        let words = [
            "/bin/x", "a b", "c \"d\"", "ef gh", "", "AB \t\u{e9}\u{1F600}", "\\", "$HOME", "${A}", ";", "100%",
        ]
        .map { Command.Word.template(Template(literal: $0)) }
        let last = Command.Word.template(Template(parts: [.specifier(.path), .specifier(.lastComponent)]))
        #expect(action == .exec([Command(words: words + [last])]))
    }

    @Test func anEscapedPercentSignIsNoSpecifier() throws {
        let action = try #require(
            load("[Handler h]\nExec=x \\x25p %@ '%@' \\x25@").configuration?.handlers.first?.action)
        #expect(
            action
                == .exec([
                    Command(words: [
                        .template(Template(literal: "x")), .template(Template(literal: "%p")), .everything, .everything,
                        .template(Template(literal: "%@")),
                    ])
                ]))
    }

    @Test func pathsMayCarryAnyByte() throws {
        let text =
            Array("[Path p]\nLog=x\nPath=/raw".utf8) + [0xFF] + Array("é /\\xfe \"/two words\" /a//b/./ /\\x2a".utf8)
        let configuration = try #require(load(bytes: text).configuration)
        guard case .path(let trigger) = configuration.sources[0].trigger else { return }
        #expect(
            trigger.paths == [
                Array("/raw".utf8) + [0xFF] + Array("é".utf8), [0x2F, 0xFE], Array("/two words".utf8),
                Array("/a/b".utf8),
                Array("/*".utf8),
            ])
    }

    @Test func aContinuedLineGoesOnBehindComments() throws {
        let text = "[Handler h]\nExec=/bin/a \\\n# comment \\\n  b \\\r\n;another\r\n  c\\\n\nLog\n"
        let result = load(text)
        #expect(result.diagnostics.map(\.message) == ["neither [Kind name] nor Key=Value"])
        let good = try #require(load(String(text.dropLast(4))).configuration)
        let words = ["/bin/a", "b", "c"].map { Command.Word.template(Template(literal: $0)) }
        #expect(good.handlers[0].action == .exec([Command(words: words)]))
    }

    @Test func spansOfTimersAreReadAndZeroMeansAtOnce() throws {
        let text = "[Timer t]\nLog=x\nEverySec=1h 30min\nOnStartupSec=0\nOnBootSec=0\nAfterSec=1.5\n"
        let trigger = try #require(load(text).configuration?.sources.first?.trigger)
        #expect(
            trigger
                == .timer(
                    TimerTrigger(
                        every: .seconds(5400), after: .milliseconds(1500), onStartup: .milliseconds(1),
                        onBoot: .milliseconds(1))))
    }

    @Test func anEmptyKeyIsTheHandlerAndOtherEmptyValuesAreDefaults() throws {
        let text = "[Descriptor d]\nListenFIFO=/a\nKey=\nLog=x\nKillSignal=\nOverlap=skip\nFraming=\nTimeoutSec="
        let configuration = try #require(load(text).configuration)
        #expect(configuration.sources[0].key == .handler)
        #expect(configuration.handlers[0].killSignal == 15)
        #expect(configuration.handlers[0].overlap == .skip)
    }
}

@Suite("Signal names")
struct LinuxSignalTests {
    @Test(arguments: [
        ("SIGUSR1", Int32(10)), ("USR1", 10), ("10", 10), ("SIGRTMIN", 34), ("RTMIN+3", 37), ("SIGRTMIN+30", 64),
        ("RTMAX", 64), ("SIGRTMAX-1", 63), ("SYS", 31), ("CLD", 17), ("IOT", 6), ("POLL", 29), ("1", 1), ("64", 64),
    ])
    func areRead(text: String, number: Int32) {
        #expect(LinuxSignal.number(text) == number)
    }

    @Test(arguments: [
        "", "0", "65", "999999999999", "-1", "usr1", "SIG", "SIG10", "SIGSIGUSR1", "RTMIN+31", "RTMIN-1", "RTMAX+1",
        "RTMIN+",
        "USR1 ",
    ])
    func areRefused(text: String) {
        #expect(LinuxSignal.number(text) == nil)
    }

    @Test func everyNameIsReadBack() {
        for number in Int32(1)...64 { #expect(LinuxSignal.number(LinuxSignal.name(number)) == number) }
        #expect(LinuxSignal.name(10) == "SIGUSR1")
        #expect(LinuxSignal.name(36) == "SIGRTMIN+2")
        #expect(LinuxSignal.name(32) == "32")
        #expect(LinuxSignal.name(-5) == "-5")
    }
}

import Testing
import WatchFile

@Suite("Descriptor sections") struct DescriptorTests {
    private func problem(_ lines: String, handler: String = "Exec=/bin/true") -> [String] {
        problems(in: "[Descriptor d]\n\(lines)\n\(handler)\n[Queue kept]\nDurable=yes\n").map {
            String($0.drop { $0 != " " }.dropFirst())
        }
    }

    private func trigger(_ lines: String) -> DescriptorTrigger? {
        guard
            case .descriptor(let trigger)? = load("[Descriptor d]\n\(lines)\nExec=/bin/true\n").configuration?.sources
                .first?.trigger
        else { return nil }
        return trigger
    }

    @Test func everyListenerIsRead() {
        #expect(trigger("ListenStream=/run/a")?.listener == .stream(.unix(Array("/run/a".utf8))))
        #expect(trigger("ListenSequentialPacket=@a")?.framing == .datagram)
        #expect(
            trigger("ListenNetlink=kobject-uevent 1")?.listener == .netlink(.init(name: "kobject-uevent", groups: 1)))
        #expect(trigger("ListenMessageQueue=/jobs")?.listener == .messageQueue(Array("/jobs".utf8)))
        #expect(trigger("FileDescriptorName=web")?.isFramingGiven == false)
        #expect(trigger("Tail=/var/log/syslog")?.listener == .tail(Array("/var/log/syslog".utf8)))
        #expect(
            trigger("Pressure=memory full 50ms 2s")?.listener
                == .pressure(.init(resource: .memory, share: .full, stall: 50_000, window: 2_000_000)))
        let command = trigger("Command=journalctl -f \"a b\"")
        var count = 0
        if case .command(let command)? = command?.listener { count = command.words.count }
        #expect(count == 3)
    }

    @Test(arguments: [
        ("ListenSequentialPacket=514", "ListenSequentialPacket= is a Unix socket"),
        ("ListenMessageQueue=/a/b", "the name of a message queue is"),
        ("ListenNetlink=rout 1", "ListenNetlink=rout is not one of"),
        ("ListenNetlink=route x", "ListenNetlink=x is not a mask"),
        ("Pressure=memory some 3s 2s", "Pressure=3s is not a time within the window"),
        ("Pressure=memory some 1s 20s", "Pressure=20s is not a window"),
        ("Pressure=memory some 1s", "Pressure=memory some 1s is not RESOURCE"),
        ("Command=/bin/cat %{line}", "%{line} in Command=: it runs before there is an event"),
        ("Command=/bin/cat %@", "%@ in Command=: it runs before there is an event"),
        ("ListenFIFO=/f\nAccept=yes", "Accept= needs ListenStream="),
        ("ListenFIFO=/f\nMaxConnections=3", "MaxConnections= needs ListenStream="),
        ("ListenFIFO=/f\nReady=readable", "Ready= needs Framing=ready"),
        ("ListenStream=/f\nFraming=ready\nReady=writable", "Ready= waits in vain: what listens"),
        ("ListenFIFO=/f\nFraming=ready\nInclude=a", "Include= is about what is read"),
        ("ListenStream=/f\nAccept=yes\nFraming=line", "Accept=yes reads nothing"),
        ("ListenStream=/f\nFraming=datagram", "ListenStream= has no datagrams"),
        ("ListenDatagram=/f\nFraming=chunk", "ListenDatagram= has no stream"),
        ("Tail=/f\nFraming=ready", "Tail= is read by watchd itself"),
        ("ListenStream=514\nSocketUser=root", "SocketUser= is for a FIFO or socket file"),
        ("ListenFIFO=/f\nInclude=(", "Include=( is not a regular expression: Unmatched ( or \\("),
        ("ListenStream=/f\nAccept=yes\nCoalesce=yes", "Accept=yes hands over one descriptor"),
        ("ListenStream=/f\nAccept=yes\nQueue=kept", "Accept=yes of [Descriptor d]: a descriptor is gone with watchd"),
        ("ListenStream=/f\nAccept=yes\nRetry=2", "[Descriptor d] is handed connections of [Descriptor d]"),
        ("ListenFIFO=/f\nStandardInput=socket", "StandardInput=socket of [Descriptor d]: no source"),
    ])
    func whatMakesNoSenseIsRefused(lines: String, start: String) {
        let found = problem(lines)
        #expect(found.count == 1 && found.first?.hasPrefix(start) == true, "\(lines): \(found)")
    }

    @Test func anOwnerThatThereIsNotIsWarnedOf() {
        func sentences(_ lines: String) -> [String] {
            var context = LoadContext(processors: 1)
            context.isUser = { $0 == "root" }
            context.isGroup = { $0 == "adm" }
            let text = "[Descriptor d]\nListenFIFO=/f\nLog=d\n" + lines
            let loaded = WatchFile.load([WatchFileText(file: "f", bytes: Array(text.utf8))], context: context)
            #expect(loaded.configuration != nil)
            return loaded.diagnostics.map(\.sentence)
        }
        #expect(sentences("SocketUser=root\nSocketGroup=adm\n") == [])
        #expect(sentences("SocketUser=1234\n") == [])
        #expect(
            sentences("SocketUser=nosuch\nSocketGroup=nor\n") == [
                "SocketUser=nosuch: there is no such user now; the source fails until there is",
                "SocketGroup=nor: there is no such group now; the source fails until there is",
            ])
    }

    @Test func aHandlerThatIsHandedADescriptorReadsAndWritesIt() {
        let load = load("[Descriptor d]\nListenStream=/f\nAccept=yes\nExec=/bin/cat\n")
        let handler = load.configuration?.handlers.first
        #expect(handler?.standardInput == .socket)
        #expect(handler?.standardOutput == .socket)
        #expect(handler?.standardError == .journal)
        let shared = problems(
            in:
                "[Descriptor d]\nListenStream=/f\nAccept=yes\nHandler=h\n[Timer t]\nEverySec=1s\nHandler=h\n[Handler h]\n"
                + "Exec=/bin/cat\n")
        #expect(shared.count == 1 && shared.first?.contains("[Timer t] has none for it") == true, "\(shared)")
    }
}

import Engine
import ProgramKit
import Testing
import WatchFile

@testable import Handlers

@Suite("Mails", .ownThread) struct MailMessageTests {
    private let cause = Event(id: 1, time: 0, fact: .custom(CustomFact(data: 7)))

    private func completion(
        _ outcome: CompletionFact.Outcome = .failure, _ result: Result? = .failed, reason: String? = nil,
        exit: Exit? = .exited(3), output: String = ""
    ) -> Event {
        let fact = CompletionFact(
            outcome: outcome, operation: 4711, result: result, reason: reason, exit: exit, output: Array(output.utf8),
            cause: cause, causeOrigin: .source(SourceID(.custom, "start")))
        return Event(id: 2, time: 0, fact: .completion(fact))
    }

    private func message(
        _ events: [Event], origin: Origin = .completion(handler: "backup"), host: String = "web1",
        mayRetry: Bool = true,
        isRedelivered: Bool = false
    ) -> MailMessage {
        let context = RunContext(
            handler: "mail", queue: "q", operation: 9, attempt: 1, origin: origin, events: events,
            isRedelivered: isRedelivered, host: Array(host.utf8))
        return MailMessage(
            context, to: ["root", "ops@example.org"], from: "watch er", at: 1_795_504_788_000_000, mayRetry: mayRetry)
    }

    private func parts(_ message: MailMessage) -> (head: [String], body: String) {
        let text = String(decoding: message.bytes, as: UTF8.self)
        let end = text.firstRange(of: "\n\n")
        let head = text[..<(end?.lowerBound ?? text.endIndex)].replacing("\n ", with: " ")
        return (head.split(separator: "\n").map(String.init), String(text[(end?.upperBound ?? text.endIndex)...]))
    }

    @Test func aProblemIsToldWithWhatIsDoneAboutIt() {
        let problem = Problem(
            object: "path/in", sentence: "no such folder", action: "watchd tries again", help: "mkdir", since: "now")
        func mail(isSolved: Bool) -> (head: [String], body: String) {
            let event = Event(id: 1, time: 0, fact: .problem(ProblemFact(problem, isSolved: isSolved)))
            return parts(message([event], origin: .problem(object: "path/in")))
        }
        let began = mail(isSolved: false)
        #expect(began.head.contains("Subject: [web1] path/in: no such folder"))
        #expect(began.body.contains("problem/path/in  no such folder\n    watchd tries again\n    mkdir"))
        let solved = mail(isSolved: true)
        #expect(solved.head.contains("Subject: [web1] path/in: solved: no such folder"))
        #expect(!solved.body.contains("watchd tries again"))
    }

    @Test func itHasTheHeadersOfAMail() {
        #expect(
            parts(message([completion()])).head == [
                "From: watchd <watch-er>", "To: root, ops@example.org", "Subject: [web1] backup failed: exit 3",
                "Date: Tue, 24 Nov 2026 07:19:48 +0000", "Message-ID: <9.2.0@web1>",
                "Auto-Submitted: auto-generated", "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8",
                "Content-Transfer-Encoding: 7bit", "X-Watchd-Handler: backup",
            ])
    }

    @Test func theSubjectSaysMachineHandlerAndOutcome() {
        func subject(_ events: [Event], _ origin: Origin = .completion(handler: "backup")) -> String {
            message(events, origin: origin).subject
        }
        #expect(subject([completion(.success, .done, exit: .exited(0))]) == "[web1] backup done")
        #expect(subject([completion(.finished, .cancelled, exit: nil)]) == "[web1] backup cancelled")
        #expect(subject([completion(.retry)]) == "[web1] backup failed and is tried again: exit 3")
        let late = completion(reason: "timed out after 5s, killed", exit: nil)
        #expect(subject([late]) == "[web1] backup failed: timed out after 5s")
        let source = Origin.source(SourceID(.custom, "start"))
        #expect(subject([cause], source) == "[web1] start: data 7")
        #expect(subject([cause, cause], source) == "[web1] start: 2 events")
        #expect(subject([cause], .run(handler: "mail")) == "[web1] mail: run by hand")
        var byHand = cause
        byHand.isByHand = true
        #expect(subject([byHand], source) == "[web1] start: data 7, run by hand")
        #expect(subject([byHand, byHand], source) == "[web1] start: 2 events, run by hand")
        let long = completion(reason: String(repeating: "é", count: 300), exit: nil)
        #expect(subject([long]).count == 160 && subject([long]).hasSuffix("…"))
    }

    @Test func theCauseOfARunByHandIsNoEvent() {
        func body(_ origin: Origin) -> String {
            var cause = Event(id: 1, time: 0, fact: .timer(scheduled: 0))
            cause.isByHand = true
            let fact = CompletionFact(
                outcome: .failure, operation: 4711, result: .failed, exit: .exited(3), output: [], cause: cause,
                causeOrigin: origin)
            return parts(message([Event(id: 2, time: 0, fact: .completion(fact))])).body
        }
        #expect(body(.source(SourceID(.timer, "nightly"))).contains("\ncaused by  timer/nightly: run by hand\n"))
        #expect(body(.run(handler: "backup")).contains("\ncaused by  run by hand\n"))
    }

    @Test func theBodySaysWhatHappenedAndWhatToType() {
        let body = parts(message([completion(reason: "no disk", output: "one\r\ntwo\u{7}\n\n")])).body
        #expect(body.hasPrefix("backup failed: exit 3.\n\noperation  4711\ncaused by  custom/start: data 7\n"))
        #expect(body.contains("\nreason     no disk\n\nIts output:\n\n    one\n    two\u{FFFD}\n\n"))
        #expect(body.contains("\nwatchctl output 4711 ") && body.contains("\nwatchctl retry 4711 "))
        #expect(body.hasSuffix("\n\n-- \nwatchd on web1, handler mail, operation 9\n"))
        let retried = parts(message([completion(.retry)])).body
        #expect(!retried.contains("watchctl retry") && retried.contains("It wrote nothing."))
        #expect(!parts(message([completion(exit: nil)])).body.contains("It wrote nothing."))
        let late = parts(message([completion(.late, nil, exit: nil)])).body
        #expect(!late.contains("watchctl output") && late.contains("watchctl show 4711"))
        #expect(!parts(message([completion()], mayRetry: false)).body.contains("watchctl retry"))
        #expect(!parts(message([completion(.success, .done)])).body.contains("watchctl retry"))
    }

    @Test func theEndOfALongOutputIsToldInWholeLines() {
        let lines = (1...20_000).map { "line \($0)" }
        let body = parts(message([completion(output: lines.joined(separator: "\n"))])).body
        #expect(body.contains("The end of its output:\n\n    line 1") && body.contains("    line 20000\n"))
        #expect(!body.contains("line 100\n") && body.utf8.count < 64 << 10)
    }

    @Test func severalEndsAreListedBesideTheNewestFailure() {
        let ends = [
            of(4710, completion()), of(4711, completion(.failure, .failed, exit: .exited(4))),
            of(4712, completion(.finished, .done)),
        ]
        let mail = parts(message(ends))
        #expect(mail.head.contains("Subject: [web1] backup failed: exit 4, and 2 more"))
        #expect(mail.body.hasPrefix("backup failed: exit 4.\n\noperation  4711\n"))
        #expect(mail.body.contains("Beside it:\n\n"))
        #expect(mail.body.contains("  backup failed: exit 3 (operation 4710)\n"))
        #expect(mail.body.contains("  backup done (operation 4712)\n"))
        // Both tell of one end.
        var again = completion(.finished)
        again.id += 1
        let twice = parts(message([completion(.failure), again]))
        #expect(twice.head.contains("Subject: [web1] backup failed: exit 3") && !twice.body.contains("Beside it"))
        let retries = parts(message([completion(.retry), again]))
        #expect(retries.head.contains("Subject: [web1] backup failed: exit 3, and 1 more"))
    }

    private func of(_ operation: UInt64, _ event: Event) -> Event {
        guard case .completion(var fact) = event.fact else { return event }
        fact.operation = operation
        var event = event
        (event.id, event.fact) = (operation, .completion(fact))
        return event
    }

    @Test func ofManyEventsFailuresAreToldFirst() {
        let ends = (1...160).map { number in
            of(UInt64(number), completion(number == 7 ? .failure : .finished, number == 7 ? .failed : .done))
        }
        let beside = parts(message(ends + [of(200, completion(.finished, .done))])).body
        #expect(beside.hasPrefix("backup failed: exit 3.\n\noperation  7\n"))
        #expect(beside.contains("Beside it, where 60 are not shown:\n\n"))
        let digest = parts(message(ends, origin: .digest(handler: "mail"))).body
        #expect(digest.contains("\n\nOf them 60 are not shown.\n\n") && digest.contains("(operation 7)"))
        #expect(!digest.contains("(operation 61)") && digest.contains("(operation 62)"))
    }

    @Test func aLongLineIsToldWhole() {
        let text = String(repeating: "a", count: 199) + "é end"
        let event = Event(id: 1, time: 0, fact: .line(LineFact(Array(text.utf8))))
        let body = parts(message([event], origin: .source(SourceID(.descriptor, "log")))).body
        #expect(body.contains("“\(String(repeating: "a", count: 199))…”\n    \(text)\n"))
    }

    @Test func aMailThatMayHaveBeenSentBeforeSaysSo() {
        #expect(parts(message([completion()], isRedelivered: true)).body.contains("\nIt may have been sent before"))
    }

    @Test func manyEventsAreListed() {
        let events = (1...150).map { Event(id: $0, time: 0, fact: .custom(CustomFact(data: Int64($0)))) }
        let list = parts(message(events, origin: .source(SourceID(.custom, "start")))).body
        #expect(list.hasPrefix("Of 150 events 50 are not shown.\n") && list.contains("custom/start  data 150\n"))
        #expect(!list.contains("data 50\n"))
    }

    @Test func nothingFromOutsideMakesAHeader() {
        let names = [
            "a\nBcc: x@y", "a\r\n\r\nbody", "a\u{2028}Bcc: x", "\u{0}", "a\u{85}Bcc: x", "=?UTF-8?Q?=0ABcc:?=",
        ]
        for name in names {
            let path = Event(id: 1, time: 0, fact: .path(PathFact(.written, path: Array(name.utf8))))
            let text = completion(reason: name, exit: nil, output: name)
            for message in [
                message([path], origin: .source(SourceID(.path, "p"))), message([text]), message([path], host: name),
            ] {
                let head = parts(message).head
                #expect(head.count == 10 && head[2].hasPrefix("Subject: ") && !head[2].contains("=0ABcc"), "\(head)")
                #expect(head.joined().utf8.allSatisfy { (0x20..<0x7F).contains($0) })
            }
        }
    }

    @Test func aSubjectInOtherLettersIsEncodedInWholeCharacters() {
        #expect(MailText.unstructured("plain") == "plain")
        #expect(MailText.unstructured("größe") == "=?UTF-8?B?Z3LDtsOfZQ==?=")
        #expect(MailText.unstructured("ab€") == "=?UTF-8?B?YWLigqw=?=")
        let long = MailText.unstructured(String(repeating: "€", count: 40)).split(separator: "\n ")
        #expect(long.count == 3 && long.allSatisfy { $0.count <= 75 })
        #expect(long[0] == "=?UTF-8?B?\(String(repeating: "4oKs", count: 15))?=")
    }

    @Test func aBodyHasNoLongLine() {
        #expect(MailText.encoded("a\nb\n").encoding == "7bit")
        #expect(MailText.encoded("grün\n") == ("8bit", Array("grün\n".utf8)))
        let (encoding, text) = MailText.encoded("a=b \n" + String(repeating: "ü", count: 500) + "\nend \n")
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        #expect(encoding == "quoted-printable" && lines.first == "a=3Db=20" && lines.last == "end=20")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 })
        let joined = lines.dropFirst().dropLast().map { $0.hasSuffix("=") ? $0.dropLast() : $0 }.joined()
        #expect(joined == String(repeating: "=C3=BC", count: 500))
    }

    @Test func aDayIsNamed() {
        #expect(MailText.date(0) == "Thu, 01 Jan 1970 00:00:00 +0000")
        #expect(MailText.date(951_782_400_000_000) == "Tue, 29 Feb 2000 00:00:00 +0000")
    }
}

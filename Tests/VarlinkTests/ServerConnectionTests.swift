import SeedKit
import Testing
import Varlink

@Suite("Server connection")
struct ServerConnectionTests {
    @Test func halfAMessageIsKnownUntilItIsWhole() {
        let connection = ConnectionUnderTest()
        #expect(connection.halfMessage == nil)
        connection.receive(Array("{\"method\":".utf8))
        #expect(connection.halfMessage == 1)
        connection.receive(Array("\"a.b.C\"".utf8))
        #expect(connection.halfMessage == 1)
        connection.receive(message("}") + Array("{".utf8))
        #expect(connection.halfMessage == nil, "there is a call at hand")
        guard let call = connection.next() else {
            Issue.record("no call")
            return
        }
        #expect(connection.halfMessage == nil, "it is being answered")
        connection.reply(to: call.number)
        #expect(connection.halfMessage == 2)
        connection.receiveEnd()
        #expect(connection.halfMessage == nil)
    }

    @Test func aCallIsHandedOutAndAnswered() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"org.example.Ping","parameters":{"text":"hi"}}"#))
        let call = connection.next()
        #expect(call?.method == "org.example.Ping")
        #expect(call?.interface == "org.example")
        #expect(call?.name == "Ping")
        #expect(call?.wantsMore == false)
        #expect(connection.next() == nil)
        connection.reply(to: 1, with: ["text": "hi"])
        #expect(connection.output() == [#"{"parameters":{"text":"hi"}}"#])
        #expect(connection.ending == nil)
    }

    @Test func repliesKeepTheOrderOfTheCallsThoughTheFirstIsAnsweredLate() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.Slow"}"#) + message(#"{"method":"a.b.Fast"}"#))
        #expect(connection.next()?.name == "Slow")
        #expect(connection.next() == nil)
        connection.reply(to: 2, with: ["early": true])
        #expect(connection.pendingOutput.isEmpty)
        connection.reply(to: 1)
        #expect(connection.next()?.name == "Fast")
        connection.fail(2, with: .permissionDenied)
        #expect(
            connection.output() == [
                #"{"parameters":{}}"#, #"{"error":"org.varlink.service.PermissionDenied","parameters":{}}"#,
            ])
    }

    @Test func aOnewayCallGetsNothing() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","oneway":true,"more":true}"#))
        #expect(connection.next()?.wantsMore == false)
        #expect(!connection.continueReply(to: 1, with: ["x": 1]))
        connection.fail(1, with: .expectedMore)
        connection.receive(message(#"{"method":"a.b.C","oneway":true}"#))
        #expect(connection.next()?.number == 2)
        connection.reply(to: 2)
        #expect(connection.pendingOutput.isEmpty)
        #expect(connection.ending == nil)
    }

    @Test func aStreamContinuesUntilItsReply() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","more":true}"#))
        #expect(connection.next()?.wantsMore == true)
        #expect(connection.continueReply(to: 1, with: ["n": 1]))
        connection.reply(to: 1, with: ["n": 2])
        #expect(!connection.continueReply(to: 1, with: ["n": 3]))
        #expect(connection.output() == [#"{"continues":true,"parameters":{"n":1}}"#, #"{"parameters":{"n":2}}"#])
    }

    @Test func aStreamIsOnlyForACallThatWantsIt() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","more":false}"#))
        #expect(connection.next() != nil)
        #expect(!connection.continueReply(to: 1, with: ["n": 1]))
        #expect(connection.pendingOutput.isEmpty)
    }

    @Test func outputCanBeWrittenByteByByte() {
        let connection = ConnectionUnderTest()
        var written: [UInt8] = []
        for number in 1...3 {
            connection.receive(message(#"{"method":"a.b.C"}"#))
            #expect(connection.next()?.number == number)
            connection.reply(to: number, with: ["number": number])
            if let byte = connection.pendingOutput.first {
                written.append(byte)
                connection.consumeOutput(1)
            }
        }
        while let byte = connection.pendingOutput.first {
            written.append(byte)
            connection.consumeOutput(1)
        }
        #expect(texts(written) == (1...3).map { #"{"parameters":{"number":\#($0)}}"# })
    }

    @Test(
        arguments: [
            ("", nil), ("[]", nil), ("x", nil), ("{", nil), (#"{"method":"a.b.C"}}"#, nil),
            ("{}", "method"), (#"{"method":1}"#, "method"), (#"{"method":null}"#, "method"),
            (#"{"method":"a.b.C","parameters":[]}"#, "parameters"),
            (#"{"method":"a.b.C","parameters":1}"#, "parameters"),
            (#"{"method":"a.b.C","more":1}"#, "more"), (#"{"method":"a.b.C","oneway":"yes"}"#, "oneway"),
        ] as [(String, String?)])
    func whatIsNoCallEndsTheConnectionWithAnErrorWhereThereIsOne(text: String, member: String?) {
        let connection = ConnectionUnderTest()
        connection.receive(message(text) + message(#"{"method":"a.b.C"}"#))
        #expect(connection.next() == nil)
        guard case .malformed = connection.ending else {
            Issue.record("\(text): \(String(describing: connection.ending))")
            return
        }
        #expect(!connection.wantsInput)
        let error = member.map {
            #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"\#($0)"}}"#
        }
        #expect(connection.output() == [error].compactMap(\.self))
        #expect(connection.isFinished)
    }

    @Test func callsBeforeTheMalformedOneAreAnswered() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C"}"#) + message("nonsense"))
        #expect(connection.next() != nil)
        connection.reply(to: 1)
        #expect(connection.next() == nil)
        #expect(!connection.isFinished)
        #expect(connection.output() == [#"{"parameters":{}}"#])
        #expect(connection.isFinished)
    }

    @Test func invalidBytesAndDeepNestingAreRefused() {
        for bytes in [[0xFF, 0xFE, 0], [UInt8](repeating: UInt8(ascii: "["), count: 10_000) + [0]] {
            let connection = ConnectionUnderTest()
            connection.receive(bytes)
            #expect(connection.next() == nil)
            #expect(connection.isFinished)
        }
        let connection = ConnectionUnderTest()
        let deep = String(repeating: #"{"a":"#, count: 10_000) + "1" + String(repeating: "}", count: 10_000)
        connection.receive(message(#"{"method":"a.b.C","parameters":\#(deep)}"#))
        #expect(connection.next() == nil)
        #expect(connection.ending != nil)
    }

    @Test func aMessageOfOneMebibyteIsTakenAndOneByteMoreIsNot() {
        let frame = #"{"method":"a.b.C","parameters":{"x":""}}"#
        let filling = ServerConnection.maximumMessageSize - frame.utf8.count
        for extra in [0, 1] {
            let connection = ConnectionUnderTest()
            let text = String(repeating: "x", count: filling + extra)
            connection.receive(message(#"{"method":"a.b.C","parameters":{"x":"\#(text)"}}"#))
            #expect((connection.next() != nil) == (extra == 0))
            #expect((connection.ending == nil) == (extra == 0))
        }
    }

    @Test func aMessageWithoutEndIsNotBuffered() {
        let connection = ConnectionUnderTest()
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
        for _ in 0..<40 { connection.receive(chunk) }
        #expect(!connection.wantsInput)
        #expect(connection.next() == nil)
        #expect(connection.isFinished)
    }

    @Test func readingStopsWhileSixtyFourCallsWait() {
        let connection = ConnectionUnderTest()
        for _ in 0..<ServerConnection.maximumWaitingCalls { connection.receive(message(#"{"method":"a.b.C"}"#)) }
        #expect(!connection.wantsInput)
        #expect(connection.next() != nil)
        #expect(connection.wantsInput)
    }

    @Test func noCallIsHandedOutWhileRepliesAreNotRead() {
        let connection = ConnectionUnderTest()
        for _ in 0...ServerConnection.maximumQueuedReplies { connection.receive(message(#"{"method":"a.b.C"}"#)) }
        for number in 1...ServerConnection.maximumQueuedReplies {
            #expect(connection.next()?.number == number)
            connection.reply(to: number)
        }
        #expect(connection.next() == nil)
        #expect(connection.isOutputFull)
        connection.consumeOutput(#"{"parameters":{}}"#.utf8.count + 1)
        #expect(connection.next()?.number == ServerConnection.maximumQueuedReplies + 1)
    }

    @Test func aSubscriberThatDoesNotReadIsCutOffWithAnError() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","more":true}"#))
        #expect(connection.next() != nil)
        for number in 0..<ServerConnection.maximumQueuedReplies {
            #expect(connection.continueReply(to: 1, with: ["n": number]))
        }
        #expect(!connection.continueReply(to: 1, with: ["n": 64]))
        #expect(connection.ending == .slowSubscriber)
        #expect(!connection.continueReply(to: 1, with: ["n": 65]))
        connection.reply(to: 1)
        let all = connection.output()
        #expect(all.count == ServerConnection.maximumQueuedReplies + 1)
        #expect(all.last == #"{"error":"org.example.TooSlow","parameters":{}}"#)
        #expect(connection.isFinished)
    }

    @Test func largeRepliesOfAStreamAreBoundedByTheirBytes() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","more":true}"#))
        #expect(connection.next() != nil)
        let half = String(repeating: "x", count: ServerConnection.maximumQueuedBytes * 2 / 3)
        #expect(connection.continueReply(to: 1, with: ["x": half + half]))
        #expect(!connection.continueReply(to: 1, with: ["x": half]))
        #expect(connection.ending == .slowSubscriber)
    }

    @Test func theEndOfInputWaitsForTheReplies() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C"}"#))
        connection.receiveEnd()
        #expect(connection.next() != nil)
        #expect(connection.ending == nil)
        connection.reply(to: 1)
        #expect(connection.next() == nil)
        #expect(connection.ending == .closed)
        #expect(!connection.isFinished)
        connection.consumeOutput(connection.pendingOutput.count)
        #expect(connection.isFinished)
    }

    @Test func theEndOfInputEndsAStream() {
        for isBegunBefore in [true, false] {
            let connection = ConnectionUnderTest()
            connection.receive(message(#"{"method":"a.b.C","more":true}"#))
            #expect(connection.next() != nil)
            if isBegunBefore { connection.beginStream(1) }
            connection.receiveEnd()
            if !isBegunBefore { connection.beginStream(1) }
            #expect(!connection.continueReply(to: 1, with: ["n": 1]))
            #expect(connection.isFinished)
        }
    }

    @Test func aCallThatAcceptsMoreIsStillAnsweredAfterTheEndOfInput() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","more":true}"#))
        #expect(connection.next() != nil)
        connection.receiveEnd()
        #expect(connection.continueReply(to: 1, with: ["n": 1]))
        connection.reply(to: 1, with: ["n": 2])
        #expect(connection.next() == nil)
        #expect(connection.ending == .closed)
        #expect(connection.output().count == 2)
    }

    @Test func halfAMessageIsMalformed() {
        let connection = ConnectionUnderTest()
        connection.receive(Array(#"{"method":"a.b.C""#.utf8))
        connection.receiveEnd()
        #expect(connection.next() == nil)
        #expect(connection.ending == .malformed("half a message"))
    }

    @Test func anUpgradeIsRefused() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C","upgrade":true}"#) + message(#"{"method":"a.b.D"}"#))
        #expect(connection.next()?.name == "D")
        #expect(
            connection.output() == [
                #"{"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"upgrade"}}"#
            ])
    }

    @Test func aReplyThatJSONCannotSayIsAnError() {
        let connection = ConnectionUnderTest()
        connection.receive(message(#"{"method":"a.b.C"}"#))
        #expect(connection.next() != nil)
        connection.reply(to: 1, with: ["x": Double.nan])
        #expect(connection.output().first?.contains("io.systemd.System") == true)
    }

    // MARK: Any chunking

    @Test func theSameBytesInAnyChunksGiveTheSameCalls() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of theSameBytesInAnyChunksGiveTheSameCalls: \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let bytes = (0..<Int.random(in: 1...12, using: &random)).flatMap { _ in randomMessage(&random) }
            let whole = transcript(of: [bytes])
            var chunks: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...min(rest.count, 40), using: &random)
                chunks.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            #expect(transcript(of: chunks) == whole)
        }
    }

    private func randomMessage(_ random: inout SeededGenerator) -> [UInt8] {
        let messages = [
            #"{"method":"a.b.C"}"#, #"{"method":"a.b.C","parameters":{"x":"ä\u0000"}}"#,
            #"{"method":"a.b.C","more":true}"#,
            #"{"method":"a.b.C","oneway":true}"#, #"{"method":"a.b.C","upgrade":true}"#,
        ]
        switch Int.random(in: 0..<30, using: &random) {
        case 0: return (0..<20).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        case 1: return message(#"{"more":true}"#)
        default: return message(messages.randomElement(using: &random) ?? "")
        }
    }

    /// Calls, output and end of a connection whose calls are answered at once.
    private func transcript(of chunks: [[UInt8]]) -> [String] {
        let connection = ConnectionUnderTest()
        var transcript: [String] = []
        func takeCalls() {
            while let call = connection.next() {
                transcript.append("\(call.number) \(call.method) \(call.isOneway) \(call.wantsMore)")
                if call.wantsMore { _ = connection.continueReply(to: call.number, with: ["n": 1]) }
                connection.reply(to: call.number)
                transcript += connection.output()
            }
        }
        for chunk in chunks {
            connection.receive(chunk)
            takeCalls()
        }
        connection.receiveEnd()
        takeCalls()
        return transcript + connection.output() + ["\(String(describing: connection.ending))"]
    }
}

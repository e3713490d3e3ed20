import Testing

@testable import WatchFile

@Suite("Completions of the defaults") struct DefaultCompletionTests {
    @Test func aCompletionOfTheDefaultsIsForAllButThoseItWouldLeadBackTo() throws {
        let text = """
            [Handler]
            OnSuccess=note
            OnFailure=mail
            [Handler mail]
            Exec=/bin/mail
            OnRetry=last
            [Handler last]
            Log=x
            [Handler note]
            Exec=/bin/note
            [Handler job]
            Exec=/bin/job
            OnFailure=last
            """
        let handlers = try #require(load(text).configuration?.handlers)
        let found = handlers.map { "\($0.name): \($0.completions.success) \($0.completions.failure)" }
        // `note` and `mail` would lead to each other: failures go first.
        #expect(
            found == [
                #"mail: [] []"#, #"last: [] []"#, #"note: [] ["mail"]"#, #"job: ["note"] ["mail", "last"]"#,
            ])
    }
}

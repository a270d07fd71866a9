import CommitPipeline
import DocumentModel
import HTTPTypes
import HostTesting
@testable import IdentityProvider
import MailTransfer
import StorageEngine
import StrictJSON
import Synchronization
import TestSupport
import Testing
@testable import TokenVerification
@testable import UserStore

/// Mails and text messages, from the request to the user.
@Suite(.endsHangs) struct MessageTests {
    private static var configuration: SignInConfiguration {
        var configuration = SignInConfiguration()
        configuration.publicAddress = "https://auth.example.com"
        configuration.authorizedDomains = ["shop.example.com"]
        return configuration
    }

    private static let down = TransferOutcome.failed(reason: "it is down", mayHaveArrived: false)

    /// Runs a test against production with a delivery, without a sender.
    private static func queueing(
        in directory: TemporaryDirectory? = nil, _ clock: ManualClock, _ delivery: MessageDelivery? = nil,
        _ body: @escaping @Sendable (SignInHost) async throws -> Void
    ) async throws {
        let delivery = delivery ?? MessageDelivery(mail: ScriptedDelivery(), texts: ScriptedDelivery())
        try await SignInHost.serving(
            policy: .production, in: directory, configuration: configuration, delivery: delivery, now: clock.wall
        ) { host in
            try await body(host)
            var problems: [String] = []
            _ = try host.pipeline.check(report: { problems.append($0) }, progress: { _ in })
            #expect(problems == [])
        }
    }

    private static func askForReset(_ host: SignInHost, _ email: String = "ada@example.com") async throws
        -> SignInHost.Answer
    {
        try await host.account("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"\#(email)"}"#)
    }

    // MARK: Whole ways

    @Test func aPasswordIsResetByMail() async throws {
        let (clock, mails, log) = (ManualClock.atIssue(), ScriptedDelivery(), LogLines())
        try await SignInHost.serving(
            policy: .production, configuration: Self.configuration, delivery: MessageDelivery(mail: mails),
            sleep: { try await clock.sleep(for: $0) }, logger: log.logger, now: clock.wall
        ) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            let answer = try await Self.askForReset(host)
            #expect(answer.status == 200)
            #expect(try answer.body.members().map(\.key).sorted() == ["email", "kind"])
            let mail = try #require(try await mails.next().mail)
            #expect(mail.to == "ada@example.com")
            #expect(mail.link.hasPrefix("https://auth.example.com/emulator/action?mode=resetPassword&lang=en&oobCode="))
            let code = try #require(mail.parameter("oobCode"))
            let reset = try await host.account("resetPassword", #"{"oobCode":"\#(code)","newPassword":"new-secret"}"#)
            #expect(reset.status == 200)
            #expect(try await host.signIn("ada@example.com", "new-secret").status == 200)
            #expect(!log.all.joined().contains(code))
        }
        #expect(mails.sent.count == 1)
    }

    @Test func aPhoneNumberSignsInByTextMessage() async throws {
        let (clock, texts) = (ManualClock.atIssue(), ScriptedDelivery())
        try await SignInHost.serving(
            policy: .production, delivery: MessageDelivery(texts: texts), sleep: { try await clock.sleep(for: $0) },
            now: clock.wall
        ) { host in
            let json = #"{"phoneNumber":"+49 151 1234567"}"#
            let answer = try await host.account("sendVerificationCode", json)
            let session = try #require(answer.body["sessionInfo"]?.text)
            let text = try #require(try await texts.next().textMessage)
            #expect(text.phoneNumber == "+491511234567")
            // The code belongs to its session, so that a second one is of no use without a message.
            let again = try await host.account("sendVerificationCode", json)
            #expect(again.body.errorMessage?.hasPrefix("TOO_MANY_ATTEMPTS_TRY_LATER : ") == true)
            let signedIn = try await host.account(
                "signInWithPhoneNumber", #"{"sessionInfo":"\#(session)","code":"\#(text.code)"}"#)
            #expect(signedIn.status == 200)
            clock.advance(by: .seconds(61))
            #expect(try await host.account("sendVerificationCode", json).status == 200)
            #expect(try await texts.next().textMessage != nil)
            #expect(
                try await host.account("sendOobCode", #"{"requestType":"EMAIL_SIGNIN","email":"a@b.example"}"#)
                    .body.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED : This host sends no mail") == true)
        }
    }

    @Test func aFailedMessageIsSentAgain() async throws {
        let (clock, mails, log) = (ManualClock.atIssue(), ScriptedDelivery([Self.down]), LogLines())
        let (pauses, continuation) = AsyncStream<Duration>.makeStream()
        try await SignInHost.serving(
            policy: .production, configuration: Self.configuration, delivery: MessageDelivery(mail: mails),
            sleep: {
                continuation.yield($0)
                try await clock.sleep(for: $0)
            }, logger: log.logger, now: clock.wall
        ) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            let first = try await mails.next()
            // Of the other pauses, the one for the lease may be among them.
            for await pause in pauses where pause == .seconds(5) { break }
            // The sender may begin to wait once more, if the end of the first attempt woke it.
            let time = Task {
                while !Task.isCancelled {
                    await clock.sleepers()
                    clock.advance(by: .seconds(1))
                }
            }
            let second = try await mails.next()
            time.cancel()
            #expect(second.id == first.id)
            #expect(second.content == first.content)
            #expect(second.attempts == 2)
            var line: String?
            while line == nil {
                try Task.checkCancellation()
                await Task.yield()
                line = log.all.first { $0.hasPrefix("a message can't be sent yet") }
            }
            let message = try #require(line)
            #expect(message.contains("error=it is down"))
            #expect(message.contains("message.kind=resetPassword"))
            #expect(!log.all.joined().contains("oobCode"))
            #expect(!log.all.joined().contains("ada@example.com"))
        }
    }

    /// A clock that was wrong is set right while the sender waits.
    @Test func theSenderLooksAtTheClockAgain() async throws {
        let (clock, mails) = (ManualClock.atIssue(), ScriptedDelivery([Self.down]))
        let (pauses, continuation) = AsyncStream<Duration>.makeStream()
        try await SignInHost.serving(
            policy: .production, configuration: Self.configuration, delivery: MessageDelivery(mail: mails),
            sleep: {
                continuation.yield($0)
                try await clock.sleep(for: $0)
            }, now: clock.wall
        ) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            _ = try await mails.next()
            for await pause in pauses where pause == .seconds(5) { break }
            let right = clock.timestamp()
            clock.setWall(Timestamp(seconds: right.seconds - 3600, nanoseconds: 0))
            host.toolkit.codes.queue.wake.raise()
            for await pause in pauses where pause != .seconds(5) {
                #expect(pause == .seconds(60))
                break
            }
            clock.setWall(right)
            // The sender may begin to wait once more.
            let time = Task {
                while !Task.isCancelled {
                    await clock.sleepers()
                    clock.advance(by: .seconds(1))
                }
            }
            #expect(try await mails.next().attempts == 2)
            time.cancel()
        }
    }

    // MARK: The queue

    @Test func withinAMinuteOneMailOfAKindIsSentToAnAddress() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await host.signUp("ken@example.com", "old-secret")
            #expect(try await Self.askForReset(host).status == 200)
            let first = try #require(try await queue.take(4).leases.first)
            #expect(try await queue.finish(first, .accepted) == .done)
            clock.advance(by: .seconds(59))
            let repeated = try await Self.askForReset(host, "ADA@example.com")
            #expect(repeated.status == 200)
            #expect(try await queue.take(4).leases.isEmpty)
            // Another address, and another kind, have their own.
            _ = try await Self.askForReset(host, "ken@example.com")
            _ = try await host.account("sendOobCode", #"{"requestType":"EMAIL_SIGNIN","email":"ada@example.com"}"#)
            #expect(try await queue.take(4).leases.count == 2)
            // The code of the mail that was sent stays good.
            let code = try #require(first.message.mail?.parameter("oobCode"))
            #expect(try await host.account("resetPassword", #"{"oobCode":"\#(code)"}"#).status == 200)
            clock.advance(by: .seconds(1))
            _ = try await Self.askForReset(host)
            let second = try #require(try await queue.take(4).leases.first)
            #expect(second.message.id != first.message.id)
        }
    }

    /// Such as of a user who has signed in by a link, and asks for one on another device.
    @Test func aMailWhoseCodeWasUsedHoldsUpNoOther() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            /// - Returns: the code of the mail that leaves.
            func mailedCode(_ kind: String) async throws -> String {
                let answer = try await host.account(
                    "sendOobCode", #"{"requestType":"\#(kind)","email":"ada@example.com"}"#)
                #expect(answer.status == 200)
                let lease = try #require(try await queue.take(4).leases.first)
                #expect(try await queue.finish(lease, .accepted) == .done)
                return try #require(lease.message.mail?.parameter("oobCode"))
            }
            _ = try await host.signUp("ada@example.com", "old-secret")
            let reset = try await mailedCode("PASSWORD_RESET")
            let answer = try await host.account("resetPassword", #"{"oobCode":"\#(reset)","newPassword":"secret-2"}"#)
            #expect(answer.status == 200)
            let again = try await mailedCode("PASSWORD_RESET")
            #expect(again != reset)
            let link = try await mailedCode("EMAIL_SIGNIN")
            let entered = try await host.account(
                "signInWithEmailLink", #"{"email":"ada@example.com","oobCode":"\#(link)"}"#)
            #expect(entered.status == 200)
            let next = try await mailedCode("EMAIL_SIGNIN")
            #expect(next != link)
            // With a new password, that isn't good any more, either.
            let changed = try await host.account("resetPassword", #"{"oobCode":"\#(again)","newPassword":"secret-3"}"#)
            #expect(changed.status == 200)
            #expect(try await mailedCode("EMAIL_SIGNIN") != next)
        }
    }

    @Test func aClockThatIsSetBackHoldsUpNoMail() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            clock.setWall(Timestamp(seconds: TestIssuer.start + 7200, nanoseconds: 0))
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            let first = try #require(try await queue.take(4).leases.first)
            #expect(try await queue.finish(first, .accepted) == .done)
            clock.setWall(Timestamp(seconds: TestIssuer.start, nanoseconds: 0))
            #expect(try await Self.askForReset(host).status == 200)
            let second = try #require(try await queue.take(4).leases.first)
            #expect(second.message.id != first.message.id)
        }
    }

    /// It may have been queued before the network was there, which has set the clock.
    @Test func aMailFromBeforeTheClockWasSetBackIsSent() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            clock.setWall(Timestamp(seconds: TestIssuer.start + 7200, nanoseconds: 0))
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            clock.setWall(Timestamp(seconds: TestIssuer.start, nanoseconds: 0))
            let lease = try #require(try await queue.take(4).leases.first)
            #expect(lease.message.mail?.to == "ada@example.com")
            #expect(try await queue.take(4).leases.isEmpty)
            #expect(try await queue.finish(lease, .accepted) == .done)
            #expect(try await queue.take(4).isChange)
            #expect(try await host.users.read { try $0.nextMessageTime(OutgoingMessage.Lane.allCases) } == nil)
        }
    }

    /// A mail that waits to be retried is the first of the table then.
    @Test func noMailFromBeforeTheClockWasSetBackWaitsForARetry() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            clock.setWall(Timestamp(seconds: TestIssuer.start + 7200, nanoseconds: 0))
            for email in ["ada@example.com", "ken@example.com"] {
                _ = try await host.signUp(email, "old-secret")
                _ = try await Self.askForReset(host, email)
            }
            clock.setWall(Timestamp(seconds: TestIssuer.start, nanoseconds: 0))
            let first = try #require(try await queue.take(1).leases.first)
            #expect(try await queue.finish(first, Self.down) == .retry(seconds: 5))
            let second = try #require(try await queue.take(1).leases.first)
            #expect(second.subject != first.subject)
        }
    }

    @Test func mailsThatHangDoNotHoldUpTexts() async throws {
        try await Self.queueing(ManualClock.atIssue()) { host in
            let queue = host.toolkit.codes.queue
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            #expect(try await host.account("sendVerificationCode", #"{"phoneNumber":"+15555550100"}"#).status == 200)
            // All places for mails are taken.
            let texts = try await queue.take([.text: 4])
            #expect(texts.leases.map(\.message.lane) == [.text])
            #expect(try await queue.take([.mail: 4]).leases.map(\.message.lane) == [.mail])
        }
    }

    @Test func aMessageOfAKilledHostWaitsForTheEndOfItsLease() async throws {
        let (clock, directory) = (ManualClock.atIssue(), try TemporaryDirectory())
        let id = Mutex<[UInt8]>([])
        try await Self.queueing(in: directory, clock) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            let lease = try #require(try await host.toolkit.codes.queue.take(4).leases.first)
            id.withLock { $0 = lease.message.id }
            #expect(try await host.toolkit.codes.queue.take(4).leases.isEmpty)
            // The host is killed before it can store the outcome.
        }
        clock.advance(by: .seconds(59))
        try await Self.queueing(in: directory, clock) { host in
            let queue = host.toolkit.codes.queue
            let early = try await queue.take(4)
            #expect(early.leases.isEmpty)
            #expect(early.next.map { $0 - clock.wall() } == 1)
            clock.advance(by: .seconds(1))
            let lease = try #require(try await queue.take(4).leases.first)
            #expect(lease.message.id == id.withLock { $0 })
            #expect(lease.message.attempts == 2)
            #expect(try await queue.finish(lease, .accepted) == .done)
            #expect(try await host.users.read { try $0.nextMessageTime(OutgoingMessage.Lane.allCases) } == nil)
        }
    }

    @Test func pausesGrowUntilTheCodeExpires() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            var pauses: [Int64] = []
            while true {
                let lease = try #require(try await queue.take(4).leases.first)
                let sequel = try await queue.finish(lease, Self.down)
                guard case .retry(let pause) = sequel else {
                    #expect(sequel == .givenUp)
                    break
                }
                pauses.append(pause)
                clock.advance(by: .seconds(pause - 1))
                #expect(try await queue.take(4).leases.isEmpty)
                clock.advance(by: .seconds(1))
            }
            // The next one would be after the hour for which the code is good.
            #expect(pauses == [5, 10, 20, 40, 80, 160, 320, 640, 1280])
            #expect(try await host.users.read { try $0.waitingMessages() } == 0)
        }
        #expect(MessageQueue.pause(after: 1, mayHaveArrived: true) == 60)
        #expect(MessageQueue.pause(after: 50, mayHaveArrived: true) == 3600)
    }

    @Test func aMessageThatNoHostSentInTimeIsGivenUp() async throws {
        let (clock, directory) = (ManualClock.atIssue(), try TemporaryDirectory())
        try await Self.queueing(in: directory, clock) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
        }
        clock.advance(by: .seconds(3600))
        try await Self.queueing(in: directory, clock) { host in
            let step = try await host.toolkit.codes.queue.take(4)
            #expect(step.leases.isEmpty)
            #expect(step.givenUp.count == 1)
            #expect(try await host.users.read { try $0.waitingMessages() } == 0)
        }
    }

    @Test func aDamagedMessageIsDeletedAndTheOthersAreSent() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            for email in ["ada@example.com", "bob@example.com"] {
                _ = try await host.signUp(email, "old-secret")
                _ = try await Self.askForReset(host, email)
            }
            let due = try await host.users.read { try $0.dueMessages(.mail, at: clock.wall(), limit: 9).map(\.subject) }
            #expect(due.count == 2)
            let damaged = try #require(due.first)
            try host.pipeline.engine.write { try $0.put(.users, UserKeys.message(damaged), [200]) }
            let step = try await host.toolkit.codes.queue.take(4)
            #expect(step.damaged == 1)
            #expect(step.leases.map(\.subject) == [due[1]])
            #expect(try await host.users.read { try $0.waitingMessages() } == 1)
        }
    }

    @Test func aRefusedMessageIsNotRetried() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            let lease = try #require(try await queue.take(4).leases.first)
            #expect(try await queue.finish(lease, .refused(reason: "unknown")) == .givenUp)
            clock.advance(by: .seconds(100_000))
            #expect(try await queue.take(4).leases.isEmpty)
        }
    }

    @Test func aLaterRequestTakesThePlaceOfAMailThatWaits() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let queue = host.toolkit.codes.queue
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host)
            let old = try #require(try await queue.take(4).leases.first)
            clock.advance(by: .seconds(60))
            _ = try await Self.askForReset(host)
            #expect(try await host.users.read { try $0.waitingMessages() } == 1)
            // The outcome of the old one doesn't concern the new one.
            #expect(try await queue.finish(old, .accepted) == .replaced)
            let new = try #require(try await queue.take(4).leases.first)
            #expect(new.message.id != old.message.id)
            #expect(new.message.attempts == 1)
        }
    }

    @Test func aFullQueueRefusesRequestsWhoeverAsks() async throws {
        let clock = ManualClock.atIssue()
        var delivery = MessageDelivery(mail: ScriptedDelivery(), texts: ScriptedDelivery())
        delivery.maxWaiting = 2
        try await Self.queueing(clock, delivery) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            for email in ["a@example.com", "b@example.com"] {
                let json = #"{"requestType":"EMAIL_SIGNIN","email":"\#(email)"}"#
                #expect(try await host.account("sendOobCode", json).status == 200)
            }
            for email in ["ada@example.com", "unknown@example.com"] {
                let answer = try await Self.askForReset(host, email)
                #expect(answer.status == 503)
            }
            let text = try await host.account("sendVerificationCode", #"{"phoneNumber":"+491511234567"}"#)
            #expect(text.status == 503)
            let lease = try #require(try await host.toolkit.codes.queue.take(1).leases.first)
            _ = try await host.toolkit.codes.queue.finish(lease, .accepted)
            #expect(try await Self.askForReset(host).status == 200)
        }
    }

    // MARK: Requests

    @Test func requestsForMailAreCheckedBeforeAnythingIsQueued() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            func message(_ json: String) async throws -> String? {
                try await host.account("sendOobCode", json).body.errorMessage
            }
            for site in [
                "https://evil.example", "http://localhost", "https://shop.example.com.evil.example", "app://shop",
            ] {
                #expect(
                    try await message(
                        #"{"requestType":"EMAIL_SIGNIN","email":"a@example.com","continueUrl":"\#(site)"}"#)?
                        .hasPrefix("UNAUTHORIZED_DOMAIN : ") == true)
            }
            for email in ["a>b@example.com", #"a,\"b\"@example.com"#, "a@exam;ple.com"] {
                #expect(try await message(#"{"requestType":"EMAIL_SIGNIN","email":"\#(email)"}"#) == "INVALID_EMAIL")
            }
            #expect(
                try await message(#"{"requestType":"PASSWORD_RESET","email":"no@example.com"}"#) == "EMAIL_NOT_FOUND")
            // An admin who asks for the link gets no mail.
            _ = try await host.signUp("ada@example.com", "old-secret")
            let link = try await host.admin(
                "sendOobCode",
                #"{"requestType":"PASSWORD_RESET","email":"ada@example.com","returnOobLink":true,"continueUrl":"https://shop.example.com/x"}"#
            )
            #expect(link.body["oobLink"]?.text?.hasPrefix("https://auth.example.com/emulator/action?") == true)
            #expect(try await host.users.read { try $0.nextMessageTime(OutgoingMessage.Lane.allCases) } == nil)
        }
    }

    @Test func answersHideAccountsWhenMailIsSent() async throws {
        let clock = ManualClock.atIssue()
        var configuration = Self.configuration
        configuration.hidesAccounts = true
        try await SignInHost.serving(
            policy: .production, configuration: configuration, delivery: MessageDelivery(mail: ScriptedDelivery()),
            now: clock.wall
        ) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            for email in ["ada@example.com", "ada@example.com", "no@example.com"] {
                let answer = try await Self.askForReset(host, email)
                #expect(answer.status == 200)
                #expect(answer.body["email"]?.text == email)
            }
            // The one for no account does all that the other does, and isn't sent.
            let mails = try await host.toolkit.codes.queue.take(4).leases.compactMap(\.message.mail)
            #expect(mails.map(\.to).sorted() == ["", "ada@example.com"])
            #expect(mails.map(\.isDecoy).count { $0 } == 1)
        }
    }

    @Test func aMailForNoAccountIsNotSent() async throws {
        let (clock, mails) = (ManualClock.atIssue(), ScriptedDelivery())
        var configuration = Self.configuration
        configuration.hidesAccounts = true
        try await SignInHost.serving(
            policy: .production, configuration: configuration, delivery: MessageDelivery(mail: mails),
            sleep: { try await clock.sleep(for: $0) }, now: clock.wall
        ) { host in
            _ = try await host.signUp("ada@example.com", "old-secret")
            _ = try await Self.askForReset(host, "no@example.com")
            _ = try await Self.askForReset(host)
            #expect(try await mails.next().mail?.to == "ada@example.com")
        }
    }

    @Test func theOwnerOfAnOldAddressGetsAMail() async throws {
        let clock = ManualClock.atIssue()
        try await Self.queueing(clock) { host in
            let user = try await host.signUp("ada@example.com", "old-secret")
            let verify = try await host.account(
                "sendOobCode",
                #"{"requestType":"VERIFY_AND_CHANGE_EMAIL","idToken":"\#(user.idToken)","newEmail":"new@example.com"}"#)
            #expect(verify.status == 200)
            let asked = try #require(try await host.toolkit.codes.queue.take(4).leases.first?.message.mail)
            #expect(asked.to == "new@example.com")
            #expect(asked.email == "ada@example.com")
            let changed = try await host.account(
                "update", #"{"idToken":"\#(user.idToken)","email":"eve@example.com","displayName":"Eve"}"#)
            #expect(changed.status == 200)
            let mail = try #require(try await host.toolkit.codes.queue.take(4).leases.first?.message.mail)
            #expect(mail.kind == .recoverEmail)
            #expect(mail.to == "ada@example.com")
            #expect(mail.newEmail == "eve@example.com")
            let code = try #require(mail.parameter("oobCode"))
            #expect(
                try await host.account("update", #"{"oobCode":"\#(code)"}"#).body["email"]?.text == "ada@example.com")
        }
    }

    @Test func linksLeadToThePageOfTheTeam() async throws {
        let clock = ManualClock.atIssue()
        var configuration = Self.configuration
        configuration.actionPage = "https://shop.example.com/account?tab=1#top"
        try await SignInHost.serving(
            policy: .production, configuration: configuration, delivery: MessageDelivery(mail: ScriptedDelivery()),
            now: clock.wall
        ) { host in
            let answer = try await host.send(
                "/identitytoolkit.googleapis.com/v1/accounts:sendOobCode?key=fake",
                json:
                    #"{"requestType":"EMAIL_SIGNIN","email":"a@example.com","continueUrl":"https://shop.example.com/in"}"#,
                headers: [try #require(HTTPField.Name("X-Firebase-Locale")): "de-CH"])
            #expect(answer.status == 200)
            let mail = try #require(try await host.toolkit.codes.queue.take(4).leases.first?.message.mail)
            #expect(mail.link.hasPrefix("https://shop.example.com/account?tab=1&mode=signIn&lang=de-CH&oobCode="))
            #expect(mail.link.hasSuffix("&continueUrl=https%3A//shop.example.com/in#top"))
            #expect(mail.language == "de-CH")
        }
    }

    @Test func developmentListsCodesAndSendsThemToo() async throws {
        let (clock, log) = (ManualClock.atIssue(), LogLines())
        try await SignInHost.serving(
            configuration: Self.configuration,
            delivery: MessageDelivery(mail: ScriptedDelivery(), texts: ScriptedDelivery()),
            logger: log.logger, now: clock.wall
        ) { host in
            for _ in 0..<2 {
                #expect(
                    try await host.account("sendOobCode", #"{"requestType":"EMAIL_SIGNIN","email":"a@example.com"}"#)
                        .status == 200)
                #expect(
                    try await host.account("sendVerificationCode", #"{"phoneNumber":"+491511234567"}"#).status == 200)
            }
            #expect(try await host.toolkit.codes.queue.take(4).leases.count == 2)
            for (path, name) in [("oobCodes", "oobCodes"), ("verificationCodes", "verificationCodes")] {
                let list = try await host.send("/emulator/v1/projects/\(SignInHost.project)/\(path)", method: .get)
                #expect(try list.body[name]?.elements().count == 2)
            }
            #expect(log.all.count { $0.hasPrefix("code of a mail") } == 2)
        }
    }
}

extension MessageQueue {
    /// Leases messages of both lanes.
    fileprivate func take(_ limit: Int) async throws -> Step { try await take([.mail: limit, .text: limit]) }
}

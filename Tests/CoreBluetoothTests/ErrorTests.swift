import CoreBluetooth
import Testing

/// Errors as apps of Apple's systems take them apart.
@Suite("Errors and NSError")
struct ErrorTests {
    @Test("An error is an NSError with Apple's domain, code and description")
    func toNSError() {
        let error: any Error = CBError(.connectionTimeout)
        let object = error as NSError
        #expect(object.domain == CBErrorDomain && object.code == 6)
        #expect(object.localizedDescription == error.localizedDescription)
        #expect(error.localizedDescription == "The connection has timed out unexpectedly.")
        let att = CBATTError(.invalidOffset) as NSError
        #expect(att.domain == CBATTErrorDomain && att.code == 7)
    }

    @Test("An NSError of the domain is the error, by a cast and in a catch; of another domain or code it is none")
    func fromNSError() {
        func caught(_ error: NSError) -> String {
            do { throw error } catch CBError.connectionTimeout { return "timeout" } catch let error as CBError {
                return "\(error.code)"
            } catch let error as CBATTError { return "ATT \(error.code.rawValue)" } catch { return "another" }
        }
        #expect(caught(NSError(domain: CBErrorDomain, code: 6)) == "timeout")
        #expect(caught(NSError(domain: CBErrorDomain, code: 7)) == "peripheralDisconnected")
        #expect(caught(NSError(domain: CBErrorDomain, code: 99)) == "another")
        #expect(caught(NSError(domain: CBATTErrorDomain, code: 0x80)) == "ATT 128")
        #expect(caught(NSError(domain: "elsewhere", code: 6)) == "another")
        let plain: any Error = NSError(domain: CBErrorDomain, code: 3)
        #expect((plain as? CBError)?.code == .notConnected)
        #expect((NSError(domain: CBErrorDomain, code: 3) as? CBError)?.code == .notConnected)
    }

    @Test("What an app puts into an error goes with it both ways, and errors with one code are equal")
    func userInfo() {
        let error = CBError(.outOfSpace, userInfo: ["left": 3, NSLocalizedDescriptionKey: "Full."])
        #expect(error.userInfo["left"] as? Int == 3)
        #expect((error as NSError).userInfo["left"] as? Int == 3)
        #expect((error as NSError).localizedDescription == "Full.")
        let back = (error as NSError) as? CBError
        #expect(back?.userInfo["left"] as? Int == 3 && back == CBError(.outOfSpace))
        #expect(CBError(.outOfSpace).userInfo[NSLocalizedDescriptionKey] as? String == "There is no space left.")
        #expect(CBATTError(.invalidPdu, userInfo: ["a": "b"]).userInfo["a"] as? String == "b")
        #expect(CBError(.outOfSpace) != CBError(.unknown))
    }

    @Test("An NSError makes an error of its domain and code, and one that says nothing where there is none")
    func ofNSError() {
        let full = NSError(domain: CBErrorDomain, code: 4, userInfo: ["left": 3])
        #expect(
            CBError(_nsError: full) == CBError(.outOfSpace) && CBError(_nsError: full).userInfo["left"] as? Int == 3)
        #expect(CBError(_nsError: NSError(domain: CBErrorDomain, code: 99)) == CBError(.unknown))
        #expect(CBError(_nsError: NSError(domain: NSCocoaErrorDomain, code: 4)) == CBError(.unknown))
        #expect(CBATTError(_nsError: NSError(domain: CBATTErrorDomain, code: 0x80)).code.rawValue == 0x80)
    }

    @Test("Statics in Apple's spelling match in a catch and in a comparison")
    func statics() {
        do { throw CBATTError(.insufficientEncryption) } catch CBATTError.insufficientEncryption {} catch {
            Issue.record("\(error)")
        }
        #expect(CBATTError(.success).code == CBATTError.success)
        #expect(CBError(.leGattNearBackgroundNotificationLimit).code == CBError.leGattNearBackgroundNotificationLimit)
        // Profiles' and apps' own codes, as Apple's imported enumeration takes them.
        #expect(CBATTError.Code(rawValue: 0x80)?.rawValue == 0x80)
    }
}

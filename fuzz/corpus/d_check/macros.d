pid$target::$1:entry { trace($$1); trace($2); trace($0); x = 0x1fUL + 077 + 'a' + $uid; }
#pragma D attributes Evolving/Evolving/Common provider p provider
#line 5 "x"

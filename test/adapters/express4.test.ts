import express4 from 'express4';
import { adapterConformance } from '../conformance/adapter.js';
import { express4App } from '../support/express-app.js';
import { expressCases } from './express-cases.js';

adapterConformance('Express 4', express4App);
expressCases('Express 4', express4);
